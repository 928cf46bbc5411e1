import { expect, test } from 'vitest';
import { inForce, MINUTE, startDecisions } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';

const { gateway, work, passTime } = await startDecisions();

const document = `{ history(first: 20) { nodes { type actor count vehicleCount manufacturer { id name } fleet { id }
  events(first: 100) { totalCount nodes { data { ... on ContractData { manufacturer reason { code } } } } } } } }`;
const historyOf = async (client: Client): Promise<Json[]> => {
  const { body } = await client.post('/graphql', { query: document });
  expect(body.errors).toBeUndefined();
  return body.data.history.nodes;
};

test('what a manufacturer says about contracts of a fleet in an hour is one item', async () => {
  const acme = await gateway.as('acme');
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const terms = { name: 'Log', description: 'Driving log', pack: 'log', ...inForce };
  const create = async (of: Json, vins: string[]) => {
    await addVehicles(acme, vins, of);
    const { status } = await acme.post('/contracts/bulk', { fleetId: of.id, vins, ...terms });
    expect(status).toBe(201);
  };
  await create(fleet, [...newVins(30), ...newVins(5, 7), ...newVins(4, 0, 'WVW')]);
  await create(other, newVins(2));
  await work();
  // Two answers, minutes apart, in the same hour.
  passTime((70 - (new Date(gateway.services.clock()).getUTCMinutes() % 60)) * MINUTE);
  await work();
  await acme.delete(`/fleets/${other.id}`);
  await work();
  passTime(5 * MINUTE);
  await work();

  const told = (await historyOf(acme)).filter(({ type }) => /ACTIVATED|REJECTED/.test(type));
  const seen = told.map((one) => [
    one.type,
    one.manufacturer?.name,
    one.fleet?.id ?? null,
    one.count,
    one.vehicleCount,
  ]);
  expect(seen.toSorted()).toEqual(
    [
      ['CONTRACT_ACTIVATED', 'BMW', fleet.id, 30, 30],
      ['CONTRACT_ACTIVATED', 'Volkswagen', fleet.id, 4, 4],
      ['CONTRACT_REJECTED', 'BMW', fleet.id, 5, 5],
      // The deleted fleet's were active until their end was confirmed.
      ['CONTRACT_ACTIVATED', 'BMW', null, 2, 2],
      ['CONTRACT_DEACTIVATED', 'BMW', null, 2, 2],
    ].toSorted(),
  );
  for (const { actor, events, count, manufacturer } of told) {
    expect([actor, events.totalCount]).toEqual(['system', count]);
    for (const { data } of events.nodes) expect(data.manufacturer).toBe(manufacturer.id);
  }
  const { body } = await acme.get('/history?limit=200');
  const slugs = body.map(({ type, manufacturer }: Json) => [type, manufacturer]);
  expect(slugs).toEqual(
    expect.arrayContaining([
      ['contract.rejected', 'bmw'],
      ['contract.created', null],
    ]),
  );
  // An event of any contract names the maker.
  const { body: events } = await acme.get('/events?type=contract.created&limit=200');
  expect(new Set(events.map(({ data }: Json) => data.manufacturer))).toEqual(new Set(['bmw', 'volkswagen']));
});
