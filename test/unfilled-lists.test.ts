import { beforeAll, describe, expect, test } from 'vitest';
import { contractSortOrders } from '../src/core/contracts/contract.ts';
import { fleetSortOrders } from '../src/core/fleets/fleet.ts';
import type { SortOrders } from '../src/core/sql/order.ts';
import { vehicleSortOrders } from '../src/core/vehicles/vehicle.ts';
import type { Client } from './support/client.ts';
import { recount } from './support/factories.ts';
import { FEW, PER_ROW, startPageReads } from './support/page-reads.ts';

// A list that its limit does not fill ends where its rows do, in every version of PostgreSQL: before 18, only the first
// column of a row comparison ends the scan of an index. Each list with few rows lies between lists with many.

const { gateway, ask, excesses } = await startPageReads();

/** Rows of each kind in a large company: those of its small parents, and many of two parents before and behind these. */
const MANY = 12_000;
const parents = { before: 1, small: 5, behind: 9 };
type Parent = keyof typeof parents;
const uuid = (company: number, kind: string, one: string) =>
  `('01900000-0000-7000-8${company}${kind}0-' || lpad(to_hex(${one}), 12, '0'))::uuid`;
const companies = { 'a-large': 1, 'm-tiny': 2, 'z-large': 3 };
const large = 'a-large';
const parentId = (kind: string, parent: Parent) =>
  `01900000-0000-7000-8${companies[large]}${kind}0-${parents[parent].toString(16).padStart(12, '0')}`;

function rowsOf(company: string, digit: number, rows: number): string[] {
  const id = (kind: string, one: string) => uuid(digit, kind, one);
  const parent = `case when n % ${Math.floor(rows / FEW)} = 0 then 5 when n % 2 = 0 then 1 else 9 end`;
  const many = `(select n, ${parent} as p, timestamptz '2026-01-01Z' + n * interval '1 minute' as at
    from generate_series(1, ${rows}) n) n`;
  return [
    `insert into company (company, position) values ('${company}', ${rows})`,
    `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
       select ${id('a', 'n')}, '${company}', 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now() from unnest(array[1, 5, 9]) n`,
    `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status, verified_at)
       select ${id('b', 'n')}, '${company}', ${id('a', 'p')}, 'WBA' || lpad(n::text, 14, '0'), 'bmw', at,
         case when n % 4 = 0 then 'PENDING' else 'ELIGIBLE' end, case when n % 4 > 0 then at end from ${many}`,
    `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
       select ${id('c', 'n')}, '${company}', ${id('a', 'p')}, ${id('b', 'n')}, 'Log', 'Log', 'log', at, at + interval '1 year', at from ${many}`,
    `insert into event (id, company, position, type, fleet_id, history_id, actor, at)
       select ${id('d', 'n')}, '${company}', n, 'vehicle.added', ${id('a', 'p')}, ${id('e', 'p')}, 'system', at from ${many}`,
    `insert into history (id, company, key, position, type, fleet_id, actor, first_at, last_at, events, vehicles, pending, eligible,
         ineligible, unsupported, failed)
       select ${id('e', 'n')}, '${company}', ${id('e', 'n')}, n, 'vehicle.added', ${id('a', 'p')}, 'system', at, at, 1, 1, 1, 0, 0, 0, 0
       from ${many}`,
    `insert into webhook (id, company, url, secret, created_at, updated_at)
       select ${id('f', 'n')}, '${company}', 'https://example.com', 'none', now(), now() from unnest(array[1, 5, 9]) n`,
    `insert into delivery (company, webhook_id, event_id, created_at)
       select '${company}', ${id('f', 'p')}, ${id('d', 'n')}, at from ${many} order by n`,
    `insert into import (id, company, fleet_id, state, mode, dry_run, started_at)
       select ${id('0', 'n')}, '${company}', ${id('a', 'n')}, 'COMPLETED', 'partial', false, now() from unnest(array[1, 5, 9]) n`,
    `insert into import_rejection (company, import_id, row, value, code, message)
       select '${company}', ${id('0', 'p')}, n, 'X', 'VIN_INVALID_LENGTH', 'No' from ${many}`,
  ];
}

const tables = [
  'vehicle',
  'contract',
  'event',
  'history',
  'delivery',
  'import_rejection',
  'fleet',
  'webhook',
  'import',
];
const clients: Record<string, Client> = {};
beforeAll(async () => {
  const scope = 'fleets:read contracts:read';
  for (const [company, digit] of Object.entries(companies)) {
    clients[company] = await gateway.as(company, { scope });
    for (const one of rowsOf(company, digit, company === 'm-tiny' ? FEW : MANY)) await gateway.execute(one);
  }
  await gateway.execute(recount);
  for (const table of tables) await gateway.execute(`vacuum analyze ${table}`);
});

/** Pages of statements for anything else, and for descending into indexes. */
const BESIDE = 40;
/** The same of a filter, whose values are looked up in each fleet, for the page and for both of its ends. */
const BESIDE_FILTER = 240;
/** The same where contracts are looked for by the vehicles, of which up to 5,000 are looked up. */
const SOUGHT_VEHICLES = 1000;

interface List {
  /** The document around the list, and its field. */
  around?: (list: string, parent: Parent) => string;
  field: string;
  filter?: (parent: Parent) => string;
  /** The list has an argument for the fleet. */
  fleet?: true;
  orders?: SortOrders;
}
const within =
  (field: string, kind: string) =>
  (list: string, parent: Parent): string =>
    `${field}(id: "${parentId(kind, parent)}") { ${list} }`;
const ofFleet = within('fleet', 'a');
const fleetId = (parent: Parent) => `{ fleetId: "${parentId('a', parent)}" }`;

const ofParents: Record<string, List> = {
  'vehicles of a fleet': { around: ofFleet, field: 'vehicles', orders: vehicleSortOrders },
  'vehicles by their fleet': {
    field: 'vehicles',
    filter: (parent) => `{ fleetIds: ["${parentId('a', parent)}"] }`,
    orders: vehicleSortOrders,
  },
  'contracts of a fleet': { around: ofFleet, field: 'contracts', orders: contractSortOrders },
  'contracts by their fleet': { field: 'contracts', filter: fleetId, orders: contractSortOrders },
  'a fleet’s timeline': { around: ofFleet, field: 'timeline' },
  'events by their fleet': { field: 'events', filter: fleetId },
  'events by their item of the history': { field: 'events', filter: (p) => `{ historyId: "${parentId('e', p)}" }` },
  'history by its fleet': { field: 'history', fleet: true },
  'deliveries of a webhook': { around: within('webhook', 'f'), field: 'deliveries' },
  'rejected rows of an import': { around: within('import', '0'), field: 'rejected' },
};
const ofCompany: Record<string, List> = {
  fleets: { field: 'fleets', orders: fleetSortOrders },
  vehicles: { field: 'vehicles', orders: vehicleSortOrders },
  contracts: { field: 'contracts', orders: contractSortOrders },
  events: { field: 'events' },
  history: { field: 'history' },
};

const twoFleets = `{ fleetIds: ["${parentId('a', 'small')}", "${parentId('b', 'small')}"] }`;
const filters: Record<string, string> = {
  'a manufacturer that none has': '{ manufacturer: "zzz" }',
  'a status that none has': '{ eligibility: [UNSUPPORTED] }',
  'a beginning that few VINs have': '{ vin: "WBA00000000012345" }',
  'an end that few VINs have': '{ vin: "00999" }',
  'a reason that none has': '{ reasonCode: LICENCE_EXPIRED }',
  'a short time': '{ verifiedAfter: "2026-01-05T00:00:00Z", verifiedBefore: "2026-01-05T00:10:00Z" }',
  'a time that few come after': '{ verifiedAfter: "2026-01-09T07:50:00Z" }',
  'a time that few come before': '{ verifiedBefore: "2026-01-01T00:10:00Z" }',
  'two fleets that have few': twoFleets,
};

const contractFilters: Record<string, string> = {
  'two fleets that have few': twoFleets,
  'a VIN': '{ vin: "WBA00000000000999" }',
  'a VIN that none has': '{ vin: "WBA99999999999999" }',
  'a beginning that few VINs have': '{ vin: "WBA0000000001199" }',
  'an end that few VINs have': '{ vin: "00999" }',
};

const ordersOf = ({ orders }: List): string[] =>
  orders
    ? Object.keys(orders).flatMap((field) => ['ASC', 'DESC'].map((one) => `{ field: ${field}, direction: ${one} }`))
    : [''];

/** Pages of this list, in each of its orders, for which PostgreSQL read too much. */
async function excessesOf(client: Client, list: List, parent: Parent, most = BESIDE): Promise<Record<string, object>> {
  const { around = (one) => one, field, filter, fleet } = list;
  const args = [filter && `filter: ${filter(parent)}`, fleet && `fleetId: "${parentId('a', parent)}"`];
  const found: Record<string, object> = {};
  for (const order of ordersOf(list)) {
    const given = [...args, order && `orderBy: ${order}`].filter(Boolean);
    const queryOf = (page: string) =>
      `{ ${around(`${field}(${[page, ...given].join(', ')}) { edges { cursor } }`, parent)} }`;
    const much = await excesses(client, queryOf, most);
    if (Object.keys(much).length > 0) found[order] = much;
  }
  return found;
}

describe.each(Object.entries(ofParents))('%s', (_, list) => {
  test.each(['small', 'before'] as const)('end with their rows: %s', async (parent) => {
    expect(await excessesOf(clients[large] as Client, list, parent)).toEqual({});
  });
});

describe.each(Object.entries(ofCompany))('%s', (_, list) => {
  test.each(Object.keys(companies))('of the company %s end with their rows', async (company) => {
    expect(await excessesOf(clients[company] as Client, list, 'small')).toEqual({});
  });
});

describe.each(Object.entries(filters))('vehicles with %s', (_, filter) => {
  const all: List = { field: 'vehicles', filter: () => filter, orders: vehicleSortOrders };
  test('of a company end with their rows', async () => {
    expect(await excessesOf(clients[large] as Client, all, 'small', BESIDE_FILTER)).toEqual({});
  });
  test.each(['small', 'before'] as const)('of a fleet end with their rows: %s', async (parent) => {
    expect(await excessesOf(clients[large] as Client, { ...all, around: ofFleet }, parent, BESIDE_FILTER)).toEqual({});
  });
});

describe.each(Object.entries(contractFilters))('contracts with %s', (_, filter) => {
  const all: List = { field: 'contracts', filter: () => filter, orders: contractSortOrders };
  test('of a company end with their rows', async () => {
    expect(await excessesOf(clients[large] as Client, all, 'small', BESIDE_FILTER)).toEqual({});
  });
  test.each(['small', 'before'] as const)('of a fleet end with their rows: %s', async (parent) => {
    expect(await excessesOf(clients[large] as Client, { ...all, around: ofFleet }, parent, BESIDE_FILTER)).toEqual({});
  });
});

const BUSY_AT_ONCE = 3_000;

/** Vehicles and contracts of a company: so many of one maker without contracts, and of another with one each. */
async function unsold(company: string, digit: number, { idle, busy }: { idle: number; busy: number }): Promise<Client> {
  for (const one of rowsOf(company, digit, FEW)) await gateway.execute(one);
  const add = (kind: string, beginning: string, many: number) => `
    insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status)
      select ${uuid(digit, kind, 'n')}, '${company}', ${uuid(digit, 'a', '9')}, '${beginning}' || lpad(n::text, 13, '0'), 'bmw', now(),
        'PENDING' from generate_series(1, ${many}) n`;
  await gateway.execute(add('9', 'WBA1', idle));
  await gateway.execute(add('8', 'WVW1', busy));
  // A statement has half a minute.
  for (let from = 0; from < busy; from += BUSY_AT_ONCE)
    await gateway.execute(
      `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
         select ${uuid(digit, '7', 'n')}, '${company}', ${uuid(digit, 'a', '9')}, ${uuid(digit, '8', 'n')}, 'Log', 'Log', 'log',
           now(), now() + interval '1 year', now() from generate_series(${from + 1}, ${from + BUSY_AT_ONCE}) n`,
    );
  for (const table of ['vehicle', 'contract']) await gateway.execute(`vacuum analyze ${table}`);
  return gateway.as(company, { scope: 'fleets:read contracts:read' });
}

async function countReads(client: Client, vin: string, expected: number): Promise<number> {
  const { data, pages } = await ask(client, `{ contracts(filter: { vin: "${vin}" }) { totalCount } }`);
  expect(data.contracts.totalCount).toBe(expected);
  return pages;
}

test('contracts of vehicles of which very many match, and few have a contract, are no further looked for', async () => {
  const client = await unsold('q-unsold', 4, { idle: 4 * MANY, busy: 0 });
  for (const vin of ['WBA', 'WBA10']) {
    const list: List = { field: 'contracts', filter: () => `{ vin: "${vin}" }`, orders: contractSortOrders };
    expect(await excessesOf(client, list, 'small', SOUGHT_VEHICLES), vin).toEqual({});
    expect(await countReads(client, vin, vin === 'WBA' ? FEW : 0)).toBeLessThan(SOUGHT_VEHICLES);
  }
});

test('contracts of more vehicles than are looked up, beside very many contracts, are looked for by the vehicles', async () => {
  const idle = 6_000;
  const client = await unsold('r-unsold', 5, { idle, busy: 3 * MANY });
  for (const vin of ['WBA', 'WBA10']) {
    const list: List = { field: 'contracts', filter: () => `{ vin: "${vin}" }`, orders: contractSortOrders };
    // Each vehicle is counted and looked up for the page and for both of its ends; neither side of that reads a contract.
    expect(await excessesOf(client, list, 'small', 3 * 5 * idle), vin).toEqual({});
    expect(await countReads(client, vin, vin === 'WBA' ? FEW : 0)).toBeLessThan(5 * idle);
  }
});

test('a filter is looked up for the company, not for each of its fleets', async () => {
  for (const one of rowsOf('s-fleets', 6, FEW)) await gateway.execute(one);
  await gateway.execute(
    `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
       select ${uuid(6, 'a', 'n')}, 's-fleets', 'Fleet ' || n, 'Here', 'a@example.com', 'DE1', now(), now() from generate_series(10, 3000) n`,
  );
  await gateway.execute(
    `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, status)
       select ${uuid(6, '9', 'n')}, 's-fleets', ${uuid(6, 'a', 'n')}, 'WBA1' || lpad(n::text, 13, '0'), 'bmw', now(), 'PENDING'
       from generate_series(10, 3000) n`,
  );
  for (const table of ['fleet', 'vehicle']) await gateway.execute(`vacuum analyze ${table}`);
  const client = await gateway.as('s-fleets');
  for (const [what, filter] of Object.entries(filters)) {
    const list: List = { field: 'vehicles', filter: () => filter, orders: vehicleSortOrders };
    expect(await excessesOf(client, list, 'small', BESIDE_FILTER), what).toEqual({});
  }
});

test('vehicles of several fleets end with their rows', async () => {
  const query = '{ fleets(first: 20) { nodes { vehicles(first: 101) { nodes { vin } } } } }';
  const { data, pages } = await ask(clients['m-tiny'] as Client, query);
  expect(data.fleets.nodes.flatMap(({ vehicles }: { vehicles: { nodes: [] } }) => vehicles.nodes)).toHaveLength(FEW);
  expect(pages).toBeLessThan(BESIDE + PER_ROW * FEW);
});
