import { expect, test } from 'vitest';
import type { Client } from './support/client.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startLookedAt } from './support/looked-at.ts';

// A company that has grown since its statistics were made: the planner expects few of its contracts to be left after other
// conditions, and may begin with them.

const terms = { name: 'n', description: 'd', pack: 'basic', from: '2031-01-01T00:00:00Z', to: '2032-01-01T00:00:00Z' };
const tables = ['vehicle', 'contract'];

const { gateway, isServer, muchLookedAt } = await startLookedAt();

async function creationFor(client: Client, count: number) {
  const vehicles = await addVehicles(client, newVins(count));
  const vins = vehicles.map(({ vin }) => vin);
  return () => client.post('/contracts/bulk', { fleetId: vehicles[0]?.fleetId, vins, ...terms });
}

test.skipIf(!isServer).for([
  ['long', 6, 500],
  ['short', 60, 50],
] as const)(
  '%s lists are not compared with all rows where plans were made for empty tables',
  async ([, lists, each]) => {
    const young = await gateway.as(`young with ${each}`);
    await gateway.execute('truncate fleet cascade');
    for (const table of tables) {
      await gateway.execute(`alter table ${table} set (autovacuum_enabled = off)`);
      await gateway.execute(`analyze ${table}`);
    }
    for (let times = 0; times < 9; times++) await (await creationFor(young, 1))();
    for (let times = 0; times < lists; times++) await (await creationFor(young, each))();
    expect(await muchLookedAt(await creationFor(young, each))).toEqual({});
  },
);

test.skipIf(!isServer)('contracts of many vehicles are looked up by vehicle', async () => {
  const acme = await gateway.as('acme');
  const create = async (count: number) => {
    const creation = await creationFor(acme, count);
    return async () => expect((await creation()).body.contracts).toHaveLength(count);
  };
  await (await create(1))();
  const first = await create(210);
  for (const table of tables) await gateway.execute(`analyze ${table}`);
  await first();
  for (let times = 0; times < 9; times++) await (await create(210))();
  // All contracts once for each vehicle, by the plan that is kept since there was one; not all vehicles for each contract.
  const most = 210 * 2200;
  expect(await muchLookedAt(await create(210), most)).toEqual({});
});

test('statistics that cannot be made undo nothing of the list before them', async () => {
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
