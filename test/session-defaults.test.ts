import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig } from './support/database.ts';
import { contractFields, createFleet, fleetFields, newVins } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { at, createRole, execute } from './support/operator.ts';
import { until } from './support/until.ts';
import { newWorld } from './support/worlds.ts';

const given = inject('database');

/** The address of an empty database whose role has these settings; both vanish after the test. */
async function empty(defaults: Record<string, string>): Promise<string> {
  if (given.kind !== 'postgresql') throw new Error('There is no server.');
  const { admin } = given;
  const name = `odd_${randomUUID().replaceAll('-', '')}`;
  await execute(admin, ...createRole(name, defaults), `create database ${name} owner ${name}`);
  onTestFinished(async () => {
    await execute(admin, `drop database ${name} with (force)`, `drop role ${name}`);
  });
  return at(admin, name, name);
}

async function started(address: string): Promise<Gateway> {
  const env = { DATABASE_URL: address, DATA_DIR: given.folder };
  const config = { ...databaseConfig(env), DATABASE_DIRECT_URL: address, DATABASE_READ_URLS: [address] };
  const database = await openDatabase(config);
  const gateway = await startGateway({ on: { env, database }, workers: true });
  onTestFinished(async () => {
    await gateway.close();
    await database.close();
  });
  return gateway;
}

const metricsOf = async (gateway: Gateway) => (await gateway.anyone.get('/metrics')).body as string;

describe.runIf(given.kind === 'postgresql')('What a role has by default', () => {
  test.each(['serializable', 'repeatable read'])(
    'as isolation: with %s, changes at the same time all succeed, and so do jobs',
    async (isolation) => {
      const gateway = await started(await empty({ default_transaction_isolation: isolation }));
      const acme = await gateway.as('acme');
      const fleet = await createFleet(acme);
      const statuses: number[] = [];
      const send = async (path: string, body: unknown) => statuses.push((await acme.post(path, body)).status);
      const client = async () => {
        for (let round = 0; round < 25; round++) {
          const vins = newVins(2);
          await send('/vehicles', { fleetId: fleet.id, vins });
          if (round % 5 > 0) continue;
          await send('/fleets', fleetFields);
          await send('/contracts', contractFields({ fleetId: fleet.id, vin: vins[0] }));
        }
      };
      await Promise.all(Array.from({ length: 12 }, client));
      expect(statuses.filter((status) => status !== 201)).toEqual([]);
      expect((await acme.get(`/fleets/${fleet.id}`)).body).toMatchObject({ vehicleCount: 600 });
      await until(async () => (await acme.get('/vehicles?eligibility=PENDING&limit=1')).body.length === 0);
      expect(await metricsOf(gateway)).not.toMatch(/^fleet_gateway_job_failures_total\S* [1-9]/m);
    },
  );

  test('as limits of time: a migration, a command, each kind of connection and jobs have their own', async () => {
    const limits = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout'];
    const address = await empty(Object.fromEntries(limits.map((name) => [name, '1ms'])));
    const gateway = await started(address);
    const { client, fleetId, vin } = await newWorld(gateway, 'acme');
    // On the connections of short reads, of long ones, and of the unit of work.
    expect(await client.get(`/fleets/${fleetId}/vehicles`)).toMatchObject({ status: 200 });
    expect(await client.get(`/fleets/${fleetId}/vehicles`, { accept: 'text/csv' })).toMatchObject({ status: 200 });
    expect(await client.patch(`/fleets/${fleetId}`, { name: 'Renamed' })).toMatchObject({ status: 200 });
    expect(await gateway.anyone.get('/readyz')).toMatchObject({ status: 200 });
    await until(async () => (await client.get(`/vehicles/eligibility/${vin}`)).status === 200);
    expect(await metricsOf(gateway)).not.toMatch(/^fleet_gateway_job_failures_total\S* [1-9]/m);
    const listening = `select pid from pg_stat_activity where application_name = 'fleet-gateway listening'
      and datname = current_database()`;
    const [before] = await gateway.execute(listening);
    for (let round = 0; round < 20; round++) await createFleet(client);
    expect(await gateway.execute(listening)).toEqual([before]);
    const { stdout } = await promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'status'], {
      env: { PATH: process.env.PATH, DATABASE_URL: address },
    });
    expect(stdout).toMatch(/^Nothing is pending/);
  });
});
