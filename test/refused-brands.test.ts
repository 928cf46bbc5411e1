import { expect, test } from 'vitest';
import { planLines, reportActivations } from '../src/core/activation/activation-report.ts';
import { startActivations, stateOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicle, newVin } from './support/factories.ts';
import { json } from './support/upstream.ts';

test('vehicles that were refused as another brand are asked for by their own at the next start, which says so', async () => {
  const before = await startActivations();
  const acme = await before.gateway.as('acme');
  const { upstream } = before;
  upstream.behaves = ({ endpoint, body }) => {
    if (endpoint !== 'clearances') return null;
    const { vehicles } = JSON.parse(body) as { vehicles: Json[] };
    const refusal = (vin: string) => (vin.startsWith('UU1') ? 'The brand is invalid' : 'No such vehicle');
    return json(200, {
      vehicles: vehicles.map(({ vin }) => ({ vin, status: 'error', description: refusal(vin) })),
    });
  };
  const [dacia, own, other] = [
    await addVehicle(acme, newVin(0, 'UU1')),
    await addVehicle(acme, newVin(1, 'UU1')),
    await addVehicle(acme, newVin(2, 'VSS')),
  ];
  const contracts: Json[] = [];
  for (const vehicle of [dacia, own, other]) contracts.push(await before.contract(acme, vehicle));
  await before.workFor(24 * 3_600_000, 3_600_000);
  const states = async () => Promise.all(contracts.map(async (one) => (await stateOf(acme, one))[0]));
  expect(await states()).toEqual(['FAILED', 'FAILED', 'FAILED']);
  // An earlier version asked for a Dacia as a Renault.
  await before.gateway.execute(`update activation set brand = 'renault' where vin = '${dacia.vin}'`);
  upstream.behaves = () => null;

  const after = await startActivations({ on: before.gateway });
  after.upstream.decide = () => ({ status: 'approved', afterMs: 0 });
  after.passTime(before.clock() - after.clock());
  const { database, manufacturers } = after.gateway.services;
  const lines = async () => planLines(await reportActivations(database.send, manufacturers, new Date(after.clock())));
  expect(await lines()).toEqual([
    '1 of pack driving-log for 1 vehicle of dacia: high-mobility is asked for a clearance',
  ]);
  await after.work();
  await after.workFor(5 * 60_000, 60_000);
  expect(await states()).toEqual(['ACTIVE', 'FAILED', 'FAILED']);
  const asked = after.upstream.received.flatMap(({ method, path, body }) =>
    method === 'POST' && path === '/v1/fleets/vehicles' ? (JSON.parse(body).vehicles as Json[]) : [],
  );
  expect(asked.map(({ vin, brand }) => [vin, brand])).toEqual([[dacia.vin, 'dacia']]);
  expect(await lines()).toEqual([]);
});
