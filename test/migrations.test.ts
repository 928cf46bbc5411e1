import { expect, test } from 'vitest';
import { connectDatabase } from '../src/database/open-database.ts';
import { asAdmin, databaseConfig, databaseEnv } from './support/database.ts';
import { execute as administer } from './support/operator.ts';
import { until } from './support/until.ts';

async function empty() {
  const env = await databaseEnv({ isEmpty: true });
  const database = await connectDatabase(databaseConfig(env));
  const execute = (statement: string) => database.orm.em.fork().execute<Record<string, unknown>[]>(statement);
  return { env, database, execute };
}

test('tables of a version before the first release are refused, and stay', async () => {
  const { database, execute } = await empty();
  await execute(`create table fleet (name text); insert into fleet values ('North')`);
  await expect(database.migrate()).rejects.toThrow(/Start version 0\.4\.0 on them once/);
  expect(await execute('select name from fleet')).toEqual([{ name: 'North' }]);
  await database.close();
});

test('a migration that waits for a lock lets other statements pass, and is retried', async (context) => {
  const { env, database, execute } = await empty();
  context.skip(database.kind === 'embedded', 'it has one connection');
  await database.orm.migrator.up({ to: 'Migration20261123000000' });
  const names = await database.pendingMigrations();
  const em = database.orm.em.fork();
  await em.begin();
  await em.execute('update vehicle set vin = vin');
  const done = database.migrate();
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await administer(asAdmin(env), waiting)).length === 1);
  await execute('select from vehicle');
  expect(await database.pendingMigrations()).not.toEqual([]);
  await em.commit();
  expect(await done).toEqual(names);
  await database.close();
});
