import { expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { asReplica, databaseConfig, databaseEnv } from './support/database.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { until } from './support/until.ts';

test.runIf(inject('database').kind === 'postgresql')(
  'reads go to the primary while a replica is unreachable',
  async () => {
    // No server listens on this port.
    const replica = 'postgresql://gateway@127.0.0.1:9/gone';
    const env = await databaseEnv();
    const database = await openDatabase({ ...databaseConfig(env), DATABASE_READ_URLS: [replica] });
    onTestFinished(() => database.close());
    const gateway = await startGateway({ on: { env, database } });
    const acme = await gateway.as('acme');
    const fleet = await createFleet(acme);
    const vehicles = await addVehicles(acme, newVins(3), fleet);
    const of = `/fleets/${fleet.id}`;
    for (const path of [
      '/fleets',
      of,
      `${of}/vehicles`,
      `${of}/vehicles?eligibility=FAILED`,
      '/vehicles',
      '/company',
    ]) {
      expect({ path, status: (await acme.get(path)).status }).toEqual({ path, status: 200 });
    }
    const csv = await acme.get(`${of}/vehicles`, { accept: 'text/csv' });
    expect(csv.body.split('\n')).toHaveLength(1 + vehicles.length + 1);
    const query = `{ fleets { totalCount nodes { vehicles(filter: { vin: "WBA" }) { totalCount nodes { id } } } } }`;
    const { body } = await acme.post('/graphql', { query });
    expect(body).toMatchObject({ data: { fleets: { totalCount: 1, nodes: [{ vehicles: { totalCount: 3 } }] } } });
  },
);

test.runIf(inject('database').kind === 'postgresql')(
  'a lost replica is left out for some seconds, and the log and a metric say so',
  async () => {
    const env = await databaseEnv();
    const network = await TcpProxy.start(env.DATABASE_URL ?? '');
    network.refuse = true;
    onTestFinished(() => network.close());
    const told: string[] = [];
    const replica = network.through(asReplica(env));
    const database = await openDatabase({ ...databaseConfig(env), DATABASE_READ_URLS: [replica] }, (message) =>
      told.push(message),
    );
    onTestFinished(() => database.close());
    const gateway = await startGateway({ on: { env, database } });
    const acme = await gateway.as('acme');
    const { host, pathname } = new URL(replica);
    const lost = async () => {
      await acme.get('/fleets');
      return /^fleet_gateway_database_replicas_lost (\d)$/m.exec((await gateway.anyone.get('/metrics')).body)?.[1];
    };
    await until(async () => (await lost()) === '1');
    expect(told).toEqual([`The database at ${host}${pathname} cannot be reached.`]);
    const tried = network.refused;
    for (let read = 0; read < 20; read++) await acme.get('/fleets');
    expect(network.refused).toBeLessThanOrEqual(tried + 2);

    network.refuse = false;
    await until(async () => (await lost()) === '0');
    expect(told.at(-1)).toBe(`The database at ${host}${pathname} can be reached again.`);
  },
);
