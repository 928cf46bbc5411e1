import { beforeAll, describe, expect, test } from 'vitest';
import { contractSortOrders } from '../src/core/contracts/contract.ts';
import type { Client } from './support/client.ts';
import { recount } from './support/factories.ts';
import { FEW, startPageReads } from './support/page-reads.ts';

// Short lists below a parent, such as the contracts of a vehicle: indexes have their order for the whole company as well,
// and seem equally good where companies have few rows on average.

const { gateway, ask, excesses } = await startPageReads();

/** Rows of each kind in the large company, of which FEW are added to those of one parent. */
const MANY = 20_000;
/** Companies with one contract, and two rows of each other kind. */
const SMALL = 6_000;
const uuid = (kind: string, one: string) =>
  `('01900000-0000-7000-8000-${kind}' || lpad(to_hex(${one}), 11, '0'))::uuid`;
const parentId = (kind: string) => `01900000-0000-7000-8000-${kind}00000000005`;

/** Rows `n` of each kind, of which each has a parent of its own, but for a few that have the fifth. */
const rowsOf = (company: string, first: number, last: number) => {
  const parent = `case when n <= ${MANY} and n % ${Math.floor(MANY / FEW)} = 0 then 5 else n end`;
  const many = `(select n, ${company} as company, ${parent} as p, timestamptz '2026-01-01Z' + n * interval '1 minute' as at
    from generate_series(${first}, ${last}) n) n`;
  return [
    `insert into company (company, position) select distinct company, ${MANY} from ${many} on conflict do nothing`,
    `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
       select ${uuid('a', 'n')}, company, 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now() from ${many}`,
    `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at)
       select ${uuid('b', 'n')}, company, ${uuid('a', 'n')}, 'WBA' || lpad(n::text, 14, '0'), 'bmw', at from ${many}`,
    `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
       select ${uuid('c', 'n')}, company, ${uuid('a', 'p')}, ${uuid('b', 'p')}, 'Log', 'Log', n::text, at, at + interval '1 year', at
       from ${many}`,
    `insert into event (id, company, position, type, fleet_id, contract_id, vehicle_ids, vins, actor, at)
       select ${uuid('d', 'n')}, company, n, 'contract.created', ${uuid('a', 'n')}, ${uuid('c', 'p')}, array[${uuid('b', 'p')}],
         array['WBA' || lpad(p::text, 14, '0')], 'system', at from ${many}`,
    `insert into import (id, company, fleet_id, state, mode, dry_run, started_at)
       select ${uuid('e', 'n')}, company, ${uuid('a', 'p')}, 'COMPLETED', 'partial', false, at from ${many}`,
  ];
};

const tables = ['fleet', 'vehicle', 'contract', 'event', 'import'];
const analyze = async () => {
  for (const table of tables) await gateway.execute(`vacuum analyze ${table}`);
};

let client: Client;
beforeAll(async () => {
  client = await gateway.as('large', { scope: 'fleets:read contracts:read' });
  for (const table of tables) await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
  const small = rowsOf(`'small-' || n % ${SMALL}`, MANY + 1, MANY + SMALL);
  const second = rowsOf(`'small-' || n % ${SMALL}`, MANY + SMALL + 1, MANY + 2 * SMALL);
  const others = second.filter((one) => !one.startsWith('insert into contract'));
  for (const one of [...small, ...others]) await gateway.execute(one);
  await analyze();
  for (const one of rowsOf(`'large'`, 1, MANY)) await gateway.execute(one);
  await gateway.execute(recount);
  await gateway.execute(
    `select gin_clean_pending_list(name) from unnest('{event_vehicle,event_vin}'::regclass[]) name`,
  );
});

const byOrder = Object.keys(contractSortOrders).flatMap((field) =>
  ['ASC', 'DESC'].map((direction) => `orderBy: { field: ${field}, direction: ${direction} }, `),
);
// Each parent is asked for a field that no index has: an index with all that is wanted seems cheap (docs/decisions/one-statement.md).
const lists: Record<string, { orders?: string[]; of: (list: string) => string }> = {
  'contracts of a vehicle': {
    orders: byOrder,
    of: (list) => `vehicle(by: { id: "${parentId('b')}" }) { createdAt list: contracts${list} }`,
  },
  'imports of a fleet': { of: (list) => `fleet(id: "${parentId('a')}") { email list: imports${list} }` },
  'a contract’s timeline': { of: (list) => `contract(id: "${parentId('c')}") { description list: timeline${list} }` },
};
const facts = 'edges { cursor } pageInfo { hasNextPage hasPreviousPage }';
const cases = Object.entries(lists).flatMap(([name, { orders = [''], of }]) =>
  orders.map((order) => [`${name} ${order}`, order, of] as const),
);

/** Pages for descending into indexes, those of the catalogue too. */
const BESIDE = 150;

const few = async (order: string, of: (list: string) => string) => {
  const queryOf = (page: string) => `{ ${of(`(${order}${page}) { ${facts} }`)} }`;
  expect((await ask(client, queryOf('first: 100'))).cursors).toHaveLength(FEW + 1);
  expect(await excesses(client, queryOf, BESIDE)).toEqual({});
};

describe('a company that the statistics do not know, among small ones', () => {
  test.each(cases)('%s', (_, order, of) => few(order, of));
});

describe('a company that the statistics know', () => {
  beforeAll(analyze);
  test.each(cases)('%s', (_, order, of) => few(order, of));
});
