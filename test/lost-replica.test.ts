import { expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../src/database/open.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

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
