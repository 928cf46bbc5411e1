import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig } from './support/database.ts';
import { addVehicle, contractFields, createFleet, newVins } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { at, createRole, execute } from './support/operator.ts';

const given = inject('database');

/** An empty database with a role that is no superuser; both vanish after the test. */
async function empty() {
  if (given.kind !== 'postgresql') throw new Error('There is no server.');
  const { admin } = given;
  const name = `somewhere_${randomUUID().replaceAll('-', '')}`;
  await execute(admin, ...createRole(name), `create database ${name} owner ${name}`);
  onTestFinished(async () => {
    await execute(admin, `drop database ${name} with (force)`, `drop role ${name}`);
  });
  return { name, asAdmin: at(admin, name), url: at(admin, name, name) };
}

const migrate = (command: string, url: string) =>
  promisify(execFile)(process.execPath, ['src/commands/migrate.ts', command], {
    env: { PATH: process.env.PATH, DATABASE_URL: url },
  });

/** A gateway that has opened the database as a new process does. */
async function started(env: { DATABASE_URL: string; DATA_DIR: string }): Promise<Gateway> {
  const database = await openDatabase(databaseConfig(env));
  const gateway = await startGateway({ on: { env, database } });
  onTestFinished(async () => {
    await gateway.close();
    await database.close();
  });
  return gateway;
}

/** The schema of the tables: its name, and what puts it first. */
const ways: Record<string, (name: string) => { schema: string; by: string[]; options?: string }> = {
  "a role's search_path": (name) => ({ schema: 'fleets', by: [`alter role ${name} set search_path = fleets, public`] }),
  "a database's search_path": (name) => ({
    schema: 'My Fleets',
    by: [`alter database ${name} set search_path = "My Fleets"`],
  }),
  "an address's search_path": () => ({ schema: 'fleets', by: [], options: '-c search_path=fleets' }),
  'a schema named as the role': (name) => ({ schema: name, by: [] }),
};

describe.runIf(given.kind === 'postgresql').each(Object.entries(ways))('tables outside public, by %s', (_, way) => {
  test('are found again, by a second process and a command, too', async () => {
    const { name, asAdmin, url } = await empty();
    const { schema, by, options } = way(name);
    // Another application's table, which the search path may name, too.
    await execute(asAdmin, `create schema "${schema}" authorization ${name}`, ...by, 'create table public.fleet ()');
    const address = new URL(url);
    if (options) address.searchParams.set('options', options);
    const env = { DATABASE_URL: address.href, DATA_DIR: given.folder };

    const first = await started(env);
    const client = await first.as('acme');
    const fleet = await createFleet(client);
    const file = new FormData();
    file.append('fleetId', fleet.id);
    file.append('vins', new Blob([`vin\n${newVins(3_000).join('\n')}\n`], { type: 'text/csv' }), 'vins.csv');
    expect(await client.post('/vehicles/file', file)).toMatchObject({ body: { summary: { created: 3_000 } } });
    for (const again of [await started(env), await started(env)]) {
      expect(await again.anyone.get('/readyz')).toMatchObject({ status: 200 });
      const other = await again.as('acme');
      expect((await other.get(`/fleets/${fleet.id}`)).body).toMatchObject({ vehicleCount: 3_000 });
      // By MikroORM's unit of work.
      expect(await other.post('/contracts', contractFields(await addVehicle(other)))).toMatchObject({ status: 201 });
    }
    expect((await migrate('status', env.DATABASE_URL)).stdout).toMatch(/^Nothing is pending/);

    const found = await execute<{ schema: string; estimated: boolean }>(
      asAdmin,
      `select nspname as schema, reltuples > 0 as estimated
       from pg_class c join pg_namespace n on n.oid = relnamespace where relname = 'vehicle'`,
    );
    expect(found).toEqual([{ schema, estimated: true }]);
  });
});

test.runIf(given.kind === 'postgresql')('a schema that comes before that of the tables is not filled', async () => {
  const { name, asAdmin, url } = await empty();
  const env = { DATABASE_URL: url, DATA_DIR: given.folder };
  const gateway = await started(env);
  await execute(asAdmin, `create schema authorization ${name}`);
  const refusal = `The tables are in the schema public, but search_path names the schema ${name} before it`;
  await expect(started(env)).rejects.toThrow(refusal);
  await expect(migrate('up', url)).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(refusal) });
  expect((await (await gateway.as('acme')).get('/fleets')).status).toBe(200);
});

test.runIf(given.kind === 'postgresql')('a search_path without a schema that exists is refused', async () => {
  const { name, asAdmin, url } = await empty();
  await execute(asAdmin, `alter role ${name} set search_path = nowhere`);
  await expect(started({ DATABASE_URL: url, DATA_DIR: given.folder })).rejects.toThrow(
    'search_path of the database names no schema that exists',
  );
});
