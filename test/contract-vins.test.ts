import { expect, test } from 'vitest';
import { inForce, startDecisions } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, contractFields, createContract, createFleet } from './support/factories.ts';

const { gateway } = await startDecisions();
const acme = await gateway.as('acme');

/** The VINs of contracts that fit, in both interfaces. */
async function vinsFor(client: Client, vin: string, company = 'acme', fleetId?: string): Promise<string[]> {
  const conditions = encodeURIComponent(JSON.stringify({ company }));
  const fleet = fleetId ? `&fleetId=${fleetId}` : '';
  const { status, body } = await client.get(
    `/contracts?conditions=${conditions}&vin=${encodeURIComponent(vin)}${fleet}&limit=100`,
  );
  expect(status).toBe(200);
  const { body: graph } = await client.post('/graphql', {
    query: 'query ($f: ContractFilter) { contracts(first: 100, filter: $f) { totalCount nodes { vehicle { vin } } } }',
    variables: { f: { vin, ...(fleetId && { fleetId }) } },
  });
  const { nodes, totalCount } = graph.data.contracts;
  const found = body.map((one: Json) => one.vin);
  expect(nodes.map(({ vehicle }: Json) => vehicle.vin)).toEqual(found);
  expect(totalCount).toBe(found.length);
  return found;
}

test('contracts are found by the beginning or the end of a VIN', async () => {
  const vins = ['WBA3A5C50CF256985', 'WBA3A5C50CF256986', 'WVWZZZ1JZXW000985', 'WVW3A5C50CF25WBA3'];
  const [fleet, other] = [await createFleet(acme), await createFleet(acme)];
  const vehicles = [
    ...(await addVehicles(acme, vins.slice(0, 3), fleet)),
    ...(await addVehicles(acme, vins.slice(3), other)),
  ];
  for (const vehicle of vehicles) for (const pack of ['a', 'b']) await createContract(acme, vehicle, { pack });
  const twice = (...those: number[]) => those.flatMap((at) => [vins[at], vins[at]]);
  expect(await vinsFor(acme, vins[0] ?? '')).toEqual(twice(0));
  expect(await vinsFor(acme, 'wba-3a5c 50')).toEqual(twice(0, 1));
  expect(await vinsFor(acme, '985')).toEqual(twice(0, 2));
  expect(await vinsFor(acme, 'wb')).toEqual(twice(0, 1));
  expect(await vinsFor(acme, '8 6')).toEqual(twice(1));
  expect(await vinsFor(acme, 'WBA3')).toEqual(twice(0, 1, 3));
  expect(await vinsFor(acme, 'WBA3', 'acme', other.id)).toEqual(twice(3));
  // Not in the middle; and what no VIN has fits none, as before.
  for (const none of ['A5C50', 'A5', 'W', '', 'O00985', `${vins[0]}9`]) expect(await vinsFor(acme, none)).toEqual([]);
  expect(await vinsFor(await gateway.as('globex'), '985', 'globex')).toEqual([]);
});

test('a new contract says when the manufacturer is asked, however it was created', async () => {
  const fleet = await createFleet(acme);
  const vins = ['WBA00000000000001', 'WBA00000000000002', 'WBA00000000000003'];
  const [first] = await addVehicles(acme, vins, fleet);
  const one = await createContract(acme, first, inForce);
  const { vin: _, ...terms } = contractFields({ fleetId: fleet.id, vin: '' }, inForce);
  const { body } = await acme.post('/contracts/bulk', { ...terms, vins: vins.slice(1) });
  for (const made of [one, ...body.contracts]) {
    expect(made.activation).toEqual({
      state: 'PENDING',
      reason: null,
      changedAt: made.createdAt,
      nextAttemptAt: made.createdAt,
    });
    expect((await acme.get(`/contracts/${made.id}`)).body).toEqual(made);
  }
  const later = await createContract(acme, first, { pack: 'later' });
  expect(later.activation).toMatchObject({ state: 'SCHEDULED', nextAttemptAt: null });
  expect((await acme.get(`/contracts/${later.id}`)).body).toEqual(later);
});
