import { expect, test } from 'vitest';
import { planLines, reportActivations } from '../src/core/activation/activation-report.ts';
import { openPlaces } from '../src/fairness/slots.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import { manufacturersOf } from '../src/manufacturers/registry.ts';
import { activationWork, startActivations, stateOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicle, newVin } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
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
  const reporting = { send: database.send, manufacturers, gap: 60 };
  const lines = async () => planLines(await reportActivations(reporting, new Date(after.clock())));
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

test('contracts of a brand that is no longer set say what new ones say', async () => {
  const { gateway, upstream, work, contract } = await startActivations();
  const acme = await gateway.as('acme');
  upstream.decide = () => ({ status: 'approved', afterMs: 0 });
  const before = await contract(acme, await addVehicle(acme, newVin(0, 'WP0')));
  await work();
  const brands = { brands: [], clearance: { brands: ['bmw' as const] } };
  const credentials = { clientId: 'client', clientSecret: 'secret' };
  const provider = new HighMobility({ openPlaces, url: upstream.url, ...brands, ...credentials });
  const settings = { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required' };
  const fewer = await startGateway({ on: gateway, manufacturers: manufacturersOf([provider]), settings });
  const workOfFewer = activationWork(fewer);
  await workOfFewer();
  const after = await contract(await fewer.as('acme'), await addVehicle(acme, newVin(1, 'WP0')));
  await workOfFewer();
  const unsupported = ['UNSUPPORTED', 'MANUFACTURER_NOT_SUPPORTED', 'OPERATOR'];
  expect([await stateOf(acme, before), await stateOf(acme, after)]).toEqual([unsupported, unsupported]);
});
