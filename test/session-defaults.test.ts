import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig } from './support/database.ts';
import { everythingOf } from './support/everything.ts';
import { addVehicle, contractFields, createFleet, fleetFields, newVins } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { at, createRole, execute } from './support/operator.ts';
import { publishEvents } from './support/publish.ts';
import { until } from './support/until.ts';
import { newWorld, worldVins } from './support/worlds.ts';

const given = inject('database');

/** Defaults that no connection replaces. */
const OTHERS = `
  search_path=public,pg_catalog synchronous_commit=off transform_null_equals=on quote_all_identifiers=on backslash_quote=off
  check_function_bodies=off timezone_abbreviations=India xmlbinary=hex bytea_output=escape intervalstyle=iso_8601 datestyle=German
  timezone=Asia/Kathmandu enable_nestloop=off enable_hashjoin=off enable_indexscan=off enable_bitmapscan=off geqo_threshold=2
  from_collapse_limit=1 join_collapse_limit=1 default_statistics_target=1 random_page_cost=100 max_parallel_workers_per_gather=1
  parallel_setup_cost=0 parallel_tuple_cost=0 min_parallel_table_scan_size=0 min_parallel_index_scan_size=0 work_mem=64kB
  temp_file_limit=1MB track_activities=off track_counts=off`;
/** Ids, times, cursors, and which of the deliveries of one moment come first. */
const OF_A_RUN = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=(?:Cursor|type)": ")[^"]+/g;

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

async function started(address: string, { workers = true, settings = {} } = {}): Promise<Gateway> {
  const env = { DATABASE_URL: address, DATA_DIR: given.folder };
  const config = { ...databaseConfig(env), DATABASE_DIRECT_URL: address, DATABASE_READ_URLS: [address] };
  const database = await openDatabase(config);
  const gateway = await startGateway({ on: { env, database }, workers, settings });
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

  test('as a limit of what an index finds: counts and lists have all rows', async () => {
    const address = await empty({ gin_fuzzy_search_limit: '1', enable_indexscan: 'off' });
    const gateway = await started(address);
    const acme = await gateway.as('acme');
    const { id, vin, fleetId } = await addVehicle(acme);
    // So many that the index keeps them apart.
    await execute(
      address,
      `insert into event (company, type, fleet_id, vehicle_ids, vins, actor, at, position)
        select 'acme', 'contract.created', '${fleetId}', array[case when n % 10 = 0 then '${id}' else new_uuid() end],
          array[case when n % 10 = 0 then '${vin}' else n::text end], 'us', now(), 1000 + n
        from generate_series(1, 50000) n`,
      'analyze event',
      ...['event_vehicle', 'event_vin'].map((name) => `select gin_clean_pending_list('${name}')`),
    );
    for (const filter of [`vehicleId=${id}`, `vin=${vin}`])
      expect((await acme.get(`/events?type=contract.created&limit=1000&${filter}`)).body).toHaveLength(1000);
    const query = `{ events(filter: { vehicleId: "${id}", types: [CONTRACT_CREATED] }) { totalCount } }`;
    expect((await acme.post('/graphql', { query })).body.data.events.totalCount).toBe(5_000);
  });

  test('is indifferent else: all of GraphQL has the same answers', async () => {
    const others = Object.fromEntries(
      OTHERS.trim()
        .split(/\s+/)
        .map((one) => one.split('=')),
    );
    const vins = worldVins();
    const answersOf = async (defaults: Record<string, string>) => {
      const gateway = await started(await empty(defaults), {
        workers: false,
        settings: { LIMIT_GRAPHQL_COST: '1000000' },
      });
      const { client } = await newWorld(gateway, 'acme', vins);
      while (await publishEvents(contextOf(gateway.services, 'test', null)));
      const text = JSON.stringify(await everythingOf(client), null, 1);
      return text.replaceAll(OF_A_RUN, '…').replaceAll(',\n', '\n').split('\n').toSorted();
    };
    expect(await answersOf(others)).toEqual(await answersOf({}));
  });
});
