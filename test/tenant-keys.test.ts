import { expect, test } from 'vitest';
import { testDatabase } from './support/database.ts';

// Keys and foreign keys begin with the company, so no row can belong to another company's.

const { database } = await testDatabase();
const execute = (statement: string) => database.orm.em.fork().execute<Record<string, unknown>[]>(statement);
const id = (n: number) => `'01980000-0000-7000-8000-00000000000${n}'`;

for (const statement of [
  `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
   values (${id(1)}, 'acme', 'n', 'a', 'e', 'v', now(), now())`,
  `insert into vehicle (id, company, fleet_id, vin, created_at) values (${id(2)}, 'acme', ${id(1)}, 'WBA00000000000000', now())`,
  `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
   values (${id(3)}, 'acme', ${id(1)}, ${id(2)}, 'n', 'd', 'p', now(), now() + interval '1 hour', now())`,
  `insert into import (id, company, fleet_id, mode, dry_run, started_at)
   values (${id(4)}, 'acme', ${id(1)}, 'partial', false, now())`,
  `insert into import_rejection (company, import_id, row, value, code, message) values ('acme', ${id(4)}, 1, 'v', 'c', 'm')`,
  `insert into webhook (id, company, url, secret, created_at, updated_at) values (${id(5)}, 'acme', 'u', 's', now(), now())`,
  `insert into event (id, company, type, actor, at) values (${id(6)}, 'acme', 'fleet.created', 'system', now())`,
  `insert into delivery (company, webhook_id, event_id, created_at) values ('acme', ${id(5)}, ${id(6)}, now())`,
]) {
  await execute(statement);
}

test.each([
  [
    'a number of vehicles',
    `insert into vehicle_tally (company, fleet_id, status, delta) values ('other', ${id(1)}, 'PENDING', 1)`,
    'vehicle_tally_fleet_id_fkey',
  ],
  ['a contract', `update contract set company = 'other'`, 'contract_(fleet|vehicle)_id_fkey'],
  ['an import', `update import set company = 'other'`, 'import_'],
  ['a rejected row', `update import_rejection set company = 'other'`, 'import_rejection_import_id_fkey'],
  ['a delivery', `update delivery set company = 'other'`, 'delivery_(webhook|event)_id_fkey'],
])('%s is of the company of what it belongs to', async (_what, statement, constraint) => {
  const failure = await execute(statement).catch((error) => error);
  expect(failure).toMatchObject({ code: '23503', constraint: expect.stringMatching(constraint) });
});
