import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { sumUpTallies } from '../src/core/operations/upkeep.ts';
import type { Answer, Client, Json } from './support/client.ts';
import { createFleet, miscounted, newVins, uploadForm } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

// Every write of vehicles updates vehicle_tally, whose totals must equal the vehicles, by fleet and status.

const write = fc.record({
  what: fc.constantFrom('add', 'upload', 'move', 'delete', 'delete many', 'delete fleet', 'fold'),
  /** Indexes of the fleet and of the vehicles. */
  fleet: fc.nat(2),
  from: fc.nat(19),
  count: fc.integer({ min: 1, max: 8 }),
});
type Write = typeof write extends fc.Arbitrary<infer W> ? W : never;

/** The outcome of a write; no status if no request was sent. */
interface Outcome {
  what: Write['what'];
  status: number | undefined;
}

/** Runs these writes at once and returns their outcomes; other tests check success. */
async function writeAtOnce(
  gateway: Gateway,
  client: Client,
  fleets: Json[],
  vins: string[],
  writes: readonly Write[],
): Promise<Outcome[]> {
  const does: Record<Write['what'], (one: Write, fleet: Json, some: string[]) => Promise<Answer | undefined>> = {
    add: (_, { id }, some) => client.post('/vehicles', { fleetId: id, vins: some }),
    upload: (_, { id }, some) => client.post('/vehicles/file', uploadForm(id, some.join('\n'))),
    move: (_, { id }, some) => client.post('/vehicles/move', { fleetId: id, vins: some }),
    async delete(_, { id }, [vin]) {
      const { body } = await client.get(`/fleets/${id}/vehicles`);
      const found = Array.isArray(body) && body.find((one: Json) => one.vin === vin);
      return found ? client.delete(`/vehicles/${found.id}`) : undefined;
    },
    'delete many': (_, { id }, some) => client.post('/vehicles/delete', { fleetId: id, vins: some }),
    'delete fleet': ({ count }, { id }) => (count === 1 ? client.delete(`/fleets/${id}`) : Promise.resolve(undefined)),
    async fold() {
      await sumUpTallies(contextOf(gateway.services, 'test', null));
      return undefined;
    },
  };
  return Promise.all(
    writes.map(async (one) => {
      const answer = await does[one.what](one, fleets[one.fleet], vins.slice(one.from, one.from + one.count));
      return { what: one.what, status: answer?.status };
    }),
  );
}

/** Fleets all of whose tallies are counted, with other sums than those say. */
const wronglySummed = `select f.id from fleet f left join vehicle_tally t on t.company = f.company and t.fleet_id = f.id
  where f.deletion is null group by f.company, f.id having bool_and(coalesce(t.counted, true)) and
  (f.vehicle_count, f.attention_count) <> (coalesce(sum(t.delta), 0),
    coalesce(sum(t.delta) filter (where t.status in ('INELIGIBLE', 'UNSUPPORTED', 'FAILED')), 0))`;

/** Writes of vehicles that nothing else touches, so that one of each kind succeeds in every run. */
const undisturbed: Write[] = [
  { what: 'add', fleet: 0, from: 0, count: 5 },
  { what: 'upload', fleet: 1, from: 5, count: 5 },
  { what: 'delete many', fleet: 2, from: 10, count: 5 },
];

/** VINs, half of them of a maker without a provider. */
const someVins = () => [...newVins(10), ...newVins(10, 0, 'XYZ')];

async function tryWrites(gateway: Gateway, numRuns: number): Promise<Outcome[]> {
  const client = await gateway.as('acme');
  const done: Outcome[] = [];
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 20 }), async (writes) => {
      const fleets = [await createFleet(client), await createFleet(client), await createFleet(client)];
      done.push(...(await writeAtOnce(gateway, client, fleets, someVins(), writes)));
      // While answers arrive, each changes a vehicle and the counts in one transaction.
      expect(await gateway.execute(miscounted)).toEqual([]);
      expect(await gateway.execute(wronglySummed)).toEqual([]);
    }),
    { numRuns, examples: [[undisturbed]] },
  );
  // The counts are also correct when all answers have arrived.
  await until(async () => {
    const [row] = await gateway.execute<{ count: number }>(
      `select count(*)::int as count from vehicle where status = 'PENDING'`,
    );
    return row?.count === 0;
  });
  expect(await gateway.execute(miscounted)).toEqual([]);
  expect(await gateway.execute(wronglySummed)).toEqual([]);
  expect(done.filter(({ status = 200 }) => status >= 500)).toEqual([]);
  return done;
}

const fresh = await startGateway({ workers: true });

test('a new database has no trigger', async () => {
  expect(await fresh.execute('select tgname from pg_trigger where not tgisinternal')).toEqual([]);
});

test('after concurrent writes the stored counts equal the vehicles', async () => {
  const done = await tryWrites(fresh, 8);
  const did = new Set(done.filter(({ status = 500 }) => status < 300).map(({ what }) => what));
  expect([...did]).toEqual(expect.arrayContaining(['add', 'upload', 'delete many']));
});

test('many small changes of a fleet are folded to a few rows', async () => {
  const gateway = await startGateway();
  const client = await gateway.as('acme');
  const fleet = await createFleet(client);
  for (const vin of newVins(20)) await client.post('/vehicles', { fleetId: fleet.id, vins: [vin] });
  const rows = () => gateway.execute<{ delta: number }>('select delta from vehicle_tally');
  expect(await rows()).toHaveLength(20);
  await sumUpTallies(contextOf(gateway.services, 'test', null));
  expect(await rows()).toEqual([{ delta: 20 }]);
});

test('changes of a company that has been quiet since are folded when upkeep begins', async () => {
  const gateway = await startGateway();
  const client = await gateway.as('acme');
  const fleet = await createFleet(client);
  for (const vin of newVins(20)) await client.post('/vehicles', { fleetId: fleet.id, vins: [vin] });
  await gateway.execute('delete from event; update vehicle set due_at = null');
  await startGateway({ on: gateway, workers: true });
  const rows = () => gateway.execute<{ delta: number }>('select delta from vehicle_tally');
  await until(async () => (await rows()).length === 1);
});
