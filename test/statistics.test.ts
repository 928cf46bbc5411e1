import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { asAdmin } from './support/database.ts';
import { createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

// Without statistics, PostgreSQL takes all indexes that begin with the company for equally good, and chooses the
// newest. Such plans are kept while millions of rows come. The embedded database collects no statistics by itself.

const gateway = await startGateway();
const acme = await gateway.as('acme');

async function indexFor(condition: string): Promise<string | undefined> {
  const plan = await gateway.execute<Record<string, string>>(
    `explain select * from vehicle where company = 'acme' and ${condition}`,
  );
  return /using "?(\w+)"? on "?vehicle/.exec(plan.map((row) => row['QUERY PLAN']).join('\n'))?.[1];
}

const looked = async () => ({
  id: await indexFor(`id = '01980000-0000-7000-8000-000000000001'`),
  vin: await indexFor(`vin = 'WBA00000000000001'`),
});

test('the planner has statistics of many vehicles as soon as they are uploaded', async () => {
  const fleet = await createFleet(acme);
  const csv = `vin\n${newVins(4000).join('\n')}\n`;
  expect((await acme.send('POST', '/vehicles/file', uploadForm(fleet.id, csv))).status).toBe(201);
  const [table] = await gateway.execute<{ reltuples: number }>(
    `select reltuples from pg_class where relname = 'vehicle'`,
  );
  expect(table?.reltuples).toBe(4000);
  expect(await looked()).toEqual({ id: 'vehicle_pkey', vin: expect.stringMatching(/^vehicle_(vin|by_vin_hash)$/) });
});

test('later, the planner has statistics of vehicles that were added in lists', async () => {
  const fleet = await createFleet(acme);
  await acme.post('/vehicles', { fleetId: fleet.id, vins: newVins(6000) });
  await startGateway({ workers: true, on: gateway });
  await until(async () => {
    const [table] = await gateway.execute<{ known: boolean }>(
      `select reltuples > 9000 as known from pg_class where relname = 'vehicle'`,
    );
    return table?.known ? true : null;
  });
  expect(await looked()).toEqual({ id: 'vehicle_pkey', vin: expect.stringMatching(/^vehicle_(vin|by_vin_hash)$/) });
});

test.skipIf(gateway.database.kind === 'embedded')('an upload analysed half done gets new statistics', async () => {
  const fleet = await createFleet(acme);
  const importId = randomUUID();
  const vins = newVins(30_000);
  const known = async () =>
    (await gateway.execute<{ reltuples: number }>(`select reltuples from pg_class where relname = 'vehicle'`))[0]
      ?.reltuples ?? 0;
  const before = await known();
  const holder = new pg.Client(asAdmin(gateway.env));
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  // The upload has stored all but its last vehicle, and waits for the connection that adds that one.
  await holder.query(
    `insert into vehicle (id, company, fleet_id, vin, created_at) values (gen_random_uuid(), 'acme', $1, $2, now())`,
    [fleet.id, vins.at(-1)],
  );
  const form = uploadForm(fleet.id, `vin\n${vins.join('\n')}\n`);
  const uploaded = acme.send('POST', `/vehicles/file?importId=${importId}`, form);
  await until(async () => (await acme.get(`/imports/${importId}`)).body.state === 'STORING');
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await until(async () => (await gateway.execute(waiting)).length > 0);
  await gateway.execute('analyze vehicle');
  expect(await known()).toBeLessThan(before + vins.length / 2);
  await holder.query('rollback');
  expect((await uploaded).status).toBe(201);
  await until(async () => (await known()) > before + vins.length * 0.9);
});

test('statistics that cannot be made undo nothing of the list before them', async () => {
  const gateway = await startGateway();
  await gateway.execute(`create function unfit(text) returns int immutable language plpgsql as $$
    begin if current_query() like 'analyze %' then raise 'unfit'; end if; return 1; end $$`);
  await gateway.execute('create index on vehicle (unfit(vin))');
  const client = await gateway.as('unlucky');
  const { id: fleetId } = await createFleet(client);
  const added = await client.post('/vehicles', { fleetId, vins: newVins(3000) }, { 'idempotency-key': 'list' });
  expect([added.status, added.body.summary]).toEqual([
    201,
    { received: 3000, created: 3000, existing: 0, rejected: 0 },
  ]);
  expect((await client.get(`/fleets/${fleetId}`)).body.vehicleCount).toBe(3000);
});
