import { afterAll, expect, test, vi } from 'vitest';
import { connectDatabase, type Database } from '../src/database/database.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';

// A database of the version before, with rows in every table that had no company, and that version's statements.

const config = databaseConfig(await databaseEnv());

async function emptied(): Promise<Database> {
  const first = await connectDatabase(config);
  await first.orm.em.fork().execute('drop schema public cascade; create schema public');
  await first.close();
  return connectDatabase(config);
}

const database = await emptied();
afterAll(() => database.close());
const execute = (statement: string) => database.orm.em.fork().execute<Record<string, unknown>[]>(statement);

const COMPANIES = 3;
const id = (kind: number, n: string) => `('0000000${kind}-0000-7000-8000-' || lpad((${n})::text, 12, '0'))::uuid`;
const company = `'company ' || n % ${COMPANIES}`;
const rows = (from: number) => `generate_series(${from}, ${from + 29}) n`;

/** What the version before writes; rejections enough for more than one stretch of their table. */
const written = (from: number) => [
  `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
   select ${id(1, 'n')}, ${company}, 'n', 'a', 'e', 'v', now(), now() from ${rows(from)}`,
  `insert into vehicle (id, company, fleet_id, vin, created_at)
   select ${id(2, 'n')}, ${company}, ${id(1, 'n')}, 'WBA' || lpad(n::text, 14, '0'), now() from ${rows(from)}`,
  `insert into vehicle_tally (fleet_id, status, delta) select ${id(1, 'n')}, 'ELIGIBLE', 0 from ${rows(from)}, generate_series(1, 4)`,
  `insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
   select ${id(3, 'n')}, ${company}, ${id(1, 'n')}, ${id(2, 'n')}, 'n', 'd', 'p', now(), now() + interval '1 hour', now() from ${rows(from)}`,
  `insert into import (id, company, fleet_id, mode, dry_run, started_at)
   select ${id(4, 'n')}, ${company}, ${id(1, 'n')}, 'partial', false, now() from ${rows(from)}`,
  `insert into import_batch (import_id, first_row, rows, vins, manufacturers, supported, warned)
   select ${id(4, 'n')}, 0, '{1}', '{v}', '{m}', '{t}', '{f}' from ${rows(from)}`,
  `insert into import_rejection (import_id, row, value, code, message) 
   select ${id(4, 'n')}, row, 'v', 'c', repeat('m', 1900) from ${rows(from)}, generate_series(1, 20) row`,
  `insert into webhook (id, company, url, secret, created_at, updated_at)
   select ${id(5, 'n')}, ${company}, 'u', 's', now(), now() from ${rows(from)}`,
  `insert into event (id, company, type, position, actor, at)
   select ${id(6, 'n')}, ${company}, 'fleet.created', case when n % 2 = 0 then nextval('event_position') end, 'system', now() from ${rows(from)}`,
  `insert into delivery (webhook_id, event_id, created_at) select ${id(5, 'n')}, ${id(6, 'n')}, now() from ${rows(from)}`,
];

/** Rows whose company is not that of the row they belong to. */
async function strangers(): Promise<unknown> {
  const parents = { vehicle_tally: 'fleet', import_batch: 'import', import_rejection: 'import', delivery: 'webhook' };
  const counts = Object.entries(parents).map(
    ([table, parent]) => `select '${table}' as table from ${table} c
      join ${parent} p on p.id = c.${parent}_id where c.company is distinct from p.company`,
  );
  return execute(counts.join(' union all '));
}

await database.orm.migrator.up({ to: 'Migration20261121000070' });
for (const statement of written(0)) await execute(statement);
// Events outlive their company's fleets and webhooks.
await execute(`insert into event (company, type, position, actor, at)
  select 'gone ' || n, 'fleet.deleted', case n when 1 then nextval('event_position') end, 'system', now() from generate_series(1, 2) n`);

test.runIf(database.kind === 'postgresql')('a step that is kept from a lock gives way, and comes again', async () => {
  const em = database.orm.em.fork();
  await em.begin();
  await em.execute('update fleet set updated_at = now()');
  const migrated = database.migrate();
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await vi.waitFor(async () => expect(await execute(waiting)).toHaveLength(1), { timeout: 10_000, interval: 5 });
  // Whoever comes after it goes on, although the transaction that it waits for is still open.
  await execute(written(0)[0]?.replaceAll('0000000', '1000000') ?? '');
  expect(await database.pendingMigrations()).toContain('Migration20261121000100');
  await em.commit();
  expect(await migrated).toContain('Migration20261121000150');
});

test('a database of the version before takes the company into its keys, and serves that version still', async () => {
  await database.migrate();
  expect(await strangers()).toEqual([]);
  expect(await execute('select company from company order by 1')).toEqual(
    ['company 0', 'company 1', 'company 2', 'gone 1', 'gone 2'].map((one) => ({ company: one })),
  );

  for (const statement of written(100)) await execute(statement);
  expect(await strangers()).toEqual([]);
  const [tallies] = await execute(`select sum(delta)::int as vehicles, count(*)::int as rows from vehicle_tally`);
  expect(tallies).toEqual({ vehicles: 60, rows: 60 * 5 });
});

test.each([
  [
    'a vehicle',
    `insert into vehicle (id, company, fleet_id, vin, created_at)
   values (${id(8, '1')}, 'other', ${id(1, '1')}, 'WBA00000000000001', now())`,
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

test('the first fleets and webhooks of a company make one row for it, however many come at once', async () => {
  const first = (n: number) =>
    n % 2
      ? `insert into webhook (id, company, url, secret, created_at, updated_at)
         values (${id(7, String(n))}, 'new', 'u', 's', now(), now())`
      : `insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
         values (${id(7, String(n))}, 'new', 'n', 'a', 'e', 'v', now(), now())`;
  await Promise.all(Array.from({ length: 8 }, (_, n) => execute(first(n))));
  expect(await execute(`select position::int from company where company = 'new'`)).toEqual([{ position: 0 }]);
});
