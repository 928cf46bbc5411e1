import { expect, test } from 'vitest';
import { openPlaces } from '../src/fairness/slots.ts';
import { HighMobility } from '../src/manufacturers/high-mobility.ts';
import { manufacturersOf } from '../src/manufacturers/registry.ts';
import { activationWork, HOUR, MINUTE, startActivations, stateOf } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicles, newVin, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { json, silence } from './support/upstream.ts';

// Each service of a provider has its own state, and a provider whose settings are taken away stays in sight.

const started = await startActivations({ packs: { basic: ['1001'] }, timeoutMs: 1500, breakAfter: 1000 });
const { gateway, upstream, faults, workFor, contract, passTime, clock } = started;
const acme = await gateway.as('acme');
const credentials = { url: upstream.url, clientId: 'client', clientSecret: 'secret' };
/** The same database without the settings of Mercedes-Benz. */
const without = await startGateway({
  on: gateway,
  manufacturers: manufacturersOf([new HighMobility({ openPlaces, ...credentials, brands: [], clock })], { clock }),
  settings: { CONTRACTS_ACTIVATION: 'on', CONTRACTS_AUTH: 'required' },
});

const query = '{ providers { name state since services { name state since reason { code actor } } } }';
async function providerOf(client: Client, name: string): Promise<Json> {
  const found = (await client.get('/providers')).body.find((one: Json) => one.name === name);
  const { body } = await client.post('/graphql', { query });
  const same = body.data.providers.find((one: Json) => one.name === name);
  expect([same?.state, same?.since, same?.services.length]).toEqual([
    found?.state,
    found?.since,
    found?.services.length,
  ]);
  return found;
}
const metric = async (name: string) => {
  passTime(3000);
  return (await gateway.anyone.get('/metrics')).body
    .split('\n')
    .filter((line: string) => line.startsWith(`fleet_gateway_${name}{`));
};

const refusals = [
  ['500', json(500, {}), 'PROVIDER_ERROR', 'MANUFACTURER', 500],
  ['403', json(403, { errors: [{ title: 'no fleet' }] }), 'PROVIDER_CREDENTIALS', 'OPERATOR', 403],
  ['422', json(422, { errors: [{ title: 'no' }] }), 'PROVIDER_UNEXPECTED', 'OPERATOR', 422],
  ['nothing', silence, 'PROVIDER_TIMEOUT', 'MANUFACTURER', null],
] as const;
test.each(refusals)(
  'a clearance service that answers %s is not OK, and its operator hears why',
  async (_, behaviour, code, actor, status) => {
    faults.length = 0;
    const vehicles = await addVehicles(acme, newVins(6));
    upstream.behaves = ({ path }) => (path.startsWith('/v1/fleets') ? behaviour : null);
    const contracts = [];
    for (const vehicle of vehicles) contracts.push(await contract(acme, vehicle));
    await workFor(2 * MINUTE, MINUTE / 2);
    const provider = await providerOf(acme, 'high-mobility');
    expect(provider).toMatchObject({ state: 'FAILING', since: expect.any(String) });
    expect(provider.services).toMatchObject([
      { name: 'ELIGIBILITY', state: 'OK', since: null, reason: null },
      { name: 'CLEARANCES', state: 'FAILING', since: expect.any(String), reason: { code, actor } },
    ]);
    expect(await providerOf(acme, 'connect-your-fleet')).toMatchObject({ state: 'OK' });
    // Once a minute.
    const told = faults.filter((one) => 'service' in one);
    expect(told[0]).toEqual({ provider: 'high-mobility', service: 'CLEARANCES', code, status });
    expect(told.length).toBeLessThanOrEqual(3);
    const [eligibility, clearances] = await metric('provider_service_failing_seconds');
    expect(eligibility).toMatch(/provider="high-mobility",service="ELIGIBILITY"\} 0$/);
    expect(Number(clearances?.split(' ')[1])).toBeGreaterThan(60);

    upstream.behaves = () => null;
    await workFor(2 * HOUR, 10 * MINUTE);
    for (const one of contracts) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
    expect(await providerOf(acme, 'high-mobility')).toMatchObject({ state: 'OK', since: null });
  },
);

test('a provider without settings is listed while contracts name it; when it is back, what waits is due at once', async () => {
  const [vehicle] = (await addVehicles(acme, [newVin(0, 'W1K')])) as [Json];
  const one = await contract(acme, vehicle, { pack: 'basic' });
  await workFor(10 * MINUTE, MINUTE);
  expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  const waits = activationWork(without);
  without.passTime(clock() - without.services.clock());
  await acme.delete(`/contracts/${one.id}`);
  await waits();
  const client = await without.as('acme');
  expect(await providerOf(client, 'connect-your-fleet')).toMatchObject({
    state: 'NOT_CONFIGURED',
    brands: [],
    services: [],
    contracts: { toRevoke: 1 },
  });
  expect((await without.anyone.get('/metrics')).body).toContain(
    'fleet_gateway_provider_gone_programs{provider="connect-your-fleet"} 1',
  );
  expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('ACTIVE');

  // A start with the settings.
  await activationWork(gateway)();
  await workFor(10 * MINUTE, MINUTE);
  expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('INACTIVE');
  expect(await providerOf(client, 'high-mobility')).toMatchObject({ state: 'OK' });

  // What has ended is looked at for a day, and forgotten then, though nobody can be asked.
  const left = `select from activation where vin = '${vehicle.vin}'`;
  expect(await gateway.execute(left)).toHaveLength(1);
  for (let hours = 0; hours < 60; hours += 6) {
    passTime(6 * HOUR);
    without.passTime(6 * HOUR);
    await waits();
  }
  expect(await gateway.execute(left)).toEqual([]);
});

test.each([
  ['high-mobility', 'CLEARANCES', 'WBA', 'clearances'],
  ['connect-your-fleet', 'ORDERS', 'W1K', 'services'],
])('%s: orders that fail are not hidden by looks that are answered', async (name, service, wmi, endpoint) => {
  const vehicles = await addVehicles(acme, newVins(7, 0, wmi));
  const active = await contract(acme, vehicles[0] as Json, { pack: 'basic' });
  await workFor(5 * MINUTE, MINUTE);
  upstream.behaves = (asked) => (asked.endpoint === endpoint ? json(500, {}) : null);
  const others = [];
  for (const vehicle of vehicles.slice(1)) others.push(await contract(acme, vehicle, { pack: 'basic' }));
  await workFor(10 * MINUTE, MINUTE);
  const stateOfService = async () =>
    (await providerOf(acme, name)).services.find((one: Json) => one.name === service).state;
  expect(await stateOfService()).toBe('FAILING');
  await acme.patch(`/contracts/${active.id}`, { to: new Date(clock() + 24 * HOUR).toISOString() });
  await workFor(MINUTE / 2, MINUTE / 2);
  expect([await stateOf(acme, active), await stateOfService()]).toEqual([['ACTIVE'], 'FAILING']);
  upstream.behaves = () => null;
  await workFor(20 * MINUTE, MINUTE);
  for (const one of others) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  expect(await stateOfService()).toBe('OK');
  // One fault is no failure, however many there were before.
  upstream.behaves = (asked) => (asked.endpoint === endpoint ? json(500, {}) : null);
  const [last] = (await addVehicles(acme, newVins(1, 0, wmi))) as [Json];
  await contract(acme, last, { pack: 'basic' });
  await workFor(1000, 1000);
  upstream.behaves = () => null;
  expect(await stateOfService()).toBe('OK');
});
