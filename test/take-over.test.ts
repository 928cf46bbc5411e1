import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Database } from '../src/database/database.ts';
import { connectDatabase, openDatabase } from '../src/database/open-database.ts';
import { asAdmin, databaseConfig, databaseEnv } from './support/database.ts';
import { startGateway } from './support/gateway.ts';
import { execute as administer } from './support/operator.ts';
import { beyondMikroOrm, difference } from './support/schema.ts';
import { until } from './support/until.ts';

// The fixture is a dump of a database that commit 93650d5 created; its migrations are deleted.

const file = await readFile(new URL('./fixtures/commit-93650d5.sql', import.meta.url), 'utf8');
/** In the schema of the tables, wherever that is; the extension stays where it is. */
const dump = file.replaceAll(/(?<!SCHEMA )\bpublic\./g, '');

/** Objects that commit 93650d5 kept for older processes until `npm run migrate -- finish`. */
const unfinished = `
  create sequence event_position;
  select setval('event_position', 7);
  create unique index event_position_key on event (position) where position is not null and company = 'acme';
  create index vehicle_list on vehicle (fleet_id, id);
  create function vehicle_tally_insert() returns trigger language plpgsql as $$ begin return null; end $$;
  create trigger vehicle_tally_insert after insert on vehicle for each statement execute function vehicle_tally_insert();
  create procedure drop_triggers() language plpgsql as $$ begin end $$`;

/** Marks of every column in the catalogue, dropped ones included, as a server may have: PostgreSQL 15.20 of Debian does. */
const marked = `
  update pg_attribute set attoptions = '{pg_attver=1}' where attoptions is null
    and attrelid in (select oid from pg_class where relkind = 'r' and relnamespace = current_schema::regnamespace)`;

async function loaded(more = ''): Promise<{ env: Awaited<ReturnType<typeof databaseEnv>>; database: Database }> {
  const env = await databaseEnv({ isEmpty: true });
  const database = await connectDatabase(databaseConfig(env));
  await execute(database, dump);
  if (more === marked && env.DATABASE_URL) await administer(asAdmin(env), more);
  else if (more) await execute(database, more);
  return { env, database };
}

const execute = (database: Database, statements: string) =>
  database.orm.em.fork().execute<Record<string, unknown>[]>(statements);
const folded = (text: string) => text.replaceAll(/\s+/g, ' ');

const migrated = await openDatabase(databaseConfig(await databaseEnv()));
const expected = folded(await beyondMikroOrm(migrated.orm));
const names = (await migrated.orm.migrator.getExecuted()).map(({ name }) => name);
await migrated.close();

describe.each([
  ['finished', '', { acme: '2', globex: '1' }],
  ['before its `finish`', unfinished, { acme: '7', globex: '7' }],
  ['whose server marks columns', marked, { acme: '2', globex: '1' }],
])('a database of commit 93650d5, %s,', (_state, more, ends) => {
  test('becomes equal to a new one, and keeps its rows', async () => {
    const { env, database } = await loaded(more);
    expect(await database.migrate()).toEqual(names);
    expect(await difference(database.orm)).toBe('');
    expect(folded(await beyondMikroOrm(database.orm))).toBe(expected);
    expect((await database.orm.migrator.getExecuted()).map(({ name }) => name)).toEqual(names);
    const positions = await execute(database, 'select company, position::text from company');
    expect(Object.fromEntries(positions.map(({ company, position }) => [company, position]))).toEqual(ends);
    expect(await database.migrate()).toEqual([]);

    const gateway = await startGateway({ on: { env, database } });
    const acme = await gateway.as('acme');
    expect((await acme.get('/fleets')).body).toMatchObject([{ name: 'North', vehicleCount: 1 }]);
    const { body: vehicles } = await acme.get('/vehicles');
    expect(vehicles).toMatchObject([{ vin: 'WBA00000000000001', eligibility: { status: 'ELIGIBLE' } }]);
    const conditions = encodeURIComponent(JSON.stringify({ company: 'acme' }));
    expect((await acme.get(`/contracts?conditions=${conditions}`)).body).toMatchObject([{ name: 'Data' }]);
    expect((await acme.get('/events')).body).toMatchObject([{ type: 'fleet.created' }, { type: 'fleet.updated' }]);
  });
});

test("an operator's own statistics of columns are kept", async () => {
  const { database } = await loaded('alter table fleet alter name set (n_distinct = 50, n_distinct_inherited = 7)');
  await database.migrate();
  const own = `select attrelid::regclass || '.' || attname as name, option from pg_attribute, unnest(attoptions) option
    where option like 'n_distinct%' order by option`;
  expect(await execute(database, own)).toEqual([
    { name: 'fleet.name', option: 'n_distinct=50' },
    { name: 'fleet.name', option: 'n_distinct_inherited=7' },
  ]);
  await database.close();
});

test('a database of an older commit is refused with instructions', async () => {
  const { database } = await loaded(`delete from mikro_orm_migrations where name = 'Migration20261122060000'`);
  await expect(database.migrate()).rejects.toThrow(/Check out commit 93650d5.*npm run migrate -- finish/);
  expect(await execute(database, 'select name from fleet order by name')).toEqual([
    { name: 'North' },
    { name: 'South' },
  ]);
  await database.close();
});

test('a migration that waits for a lock lets other statements pass, and is retried', async (context) => {
  const { env, database } = await loaded();
  context.skip(database.kind === 'embedded', 'it has one connection');
  const em = database.orm.em.fork();
  await em.begin();
  await em.execute('update import_batch set rows = rows');
  const done = database.migrate();
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await administer(asAdmin(env), waiting)).length === 1);
  await execute(database, 'select from import_batch');
  expect(await database.pendingMigrations()).toEqual(names);
  await em.commit();
  expect(await done).toEqual(names);
  await database.close();
});
