import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { asAdmin } from './support/database.ts';
import { addVehicles, newVin } from './support/factories.ts';
import { askingAt, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { eligible, UpstreamServer, vinOf } from './support/upstream.ts';

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
const gateway = await startGateway({ workers: true, settings: askingAt(upstream) });

test.skipIf(gateway.database.kind === 'embedded')(
  'vehicles that a long transaction has locked delay no other answer, and are asked about once',
  async () => {
    const [acme, globex] = [await gateway.as('acme'), await gateway.as('globex')];
    const locked = newVin();
    const long = new pg.Client(asAdmin(gateway.env));
    await long.connect();
    onTestFinished(() => long.end());
    const asked: string[] = [];
    upstream.always('eligibility', async (response, received) => {
      asked.push(vinOf(received));
      if (vinOf(received) === locked) {
        await long.query('begin');
        await long.query(`select from vehicle where vin = $1 for update`, [locked]);
      }
      await eligible()(response, received);
    });
    await addVehicles(acme, [locked]);
    await until(() => asked.includes(locked));
    for (let round = 0; round < 3; round++) {
      const vin = newVin();
      await addVehicles(globex, [vin]);
      expect(await globex.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=10' })).toMatchObject({ status: 200 });
    }
    await long.query('rollback');
    expect(await acme.get(`/vehicles/eligibility/${locked}`, { prefer: 'wait=10' })).toMatchObject({ status: 200 });
    expect(asked.filter((vin) => vin === locked)).toHaveLength(1);
  },
);
