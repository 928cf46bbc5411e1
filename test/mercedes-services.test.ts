import { afterEach, describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, startActivations, stateOf } from './support/activations.ts';
import { addVehicle, addVehicles, newVin, newVins } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { json, text } from './support/upstream.ts';

// Contracts of Mercedes-Benz's vehicles, at a server that is as strict as the published document.

const { gateway, upstream, passTime, time, work, workFor, contract } = await startActivations({
  packs: {
    basic: ['1001'],
    more: ['1001', '1002'],
    failing: ['2001'],
    consent: ['1000', '1002'],
    barred: ['1003', '1002'],
  },
});
const acme = await gateway.as('acme');
const other = await gateway.as('other');
const mercedes = (count = 1, lastDigit = 0) => newVins(count, lastDigit, 'W1K');
const basic = { pack: 'basic' };

const soon = () => ({ status: 'ACTIVE', afterMs: MINUTE / 2 }) as const;
const received = () => upstream.received.map(({ method, path }) => `${method} ${path.replace(/W1K\w+/, 'VIN')}`);
const programsLeft = (vin: string) => gateway.execute(`select program, state from activation where vin = '${vin}'`);

afterEach(() => {
  if (hasDocuments) expect(upstream.faults).toEqual([]);
  upstream.received.length = 0;
  Object.assign(upstream, { serves: soon, endsAfterMs: 0, behaves: () => null });
});
upstream.serves = soon;

describe(`Services of Mercedes-Benz${unlessMissing}`, () => {
  test('vehicles join the account, and their services are ordered, in one request each', async () => {
    const vehicles = await addVehicles(acme, mercedes(3));
    const contracts = await Promise.all(vehicles.map((vehicle) => contract(acme, vehicle, basic)));
    expect(await stateOf(acme, contracts[0])).toEqual(['PENDING']);
    await work();
    expect(received()).toEqual(['POST /v1/token', 'POST /v1/accounts/vehicles', 'POST /v2/accounts/vehicles/services']);
    expect(await stateOf(acme, contracts[0])).toEqual(['PENDING']);
    await workFor(4 * MINUTE, MINUTE);
    for (const one of contracts) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test('an end is ordered, and confirmed once the service is off', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, { ...basic, to: time(HOUR) });
    await workFor(4 * MINUTE, MINUTE);
    upstream.endsAfterMs = 2 * MINUTE;
    passTime(HOUR);
    await work();
    expect(await stateOf(acme, one)).toEqual(['ENDING', 'END_NOT_CONFIRMED', 'MANUFACTURER']);
    expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('ACTIVE');
    await workFor(10 * MINUTE, MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ENDED']);
    expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('INACTIVE');
    // It is looked at for a day, since the manufacturer may have carried out something late.
    expect(await programsLeft(vehicle.vin)).toEqual([{ program: '1001', state: 'ENDED' }]);
    await workFor(2 * DAY, HOUR);
    expect(await programsLeft(vehicle.vin)).toEqual([]);
  });

  test('a service that two packs or two companies need ends with the last', async () => {
    const [vin = ''] = mercedes();
    const [own, others] = [await addVehicle(acme, vin), await addVehicle(other, vin)];
    const all = [await contract(acme, own, basic), await contract(acme, own, { pack: 'more' })];
    const last = await contract(other, others, basic);
    await workFor(4 * MINUTE, MINUTE);
    for (const one of all) {
      await acme.delete(`/contracts/${one.id}`);
      await workFor(2 * HOUR, MINUTE);
      expect(upstream.serviceOf(vin, '1001')?.status).toBe('ACTIVE');
    }
    expect(upstream.serviceOf(vin, '1002')?.status).toBe('INACTIVE');
    await other.delete(`/contracts/${last.id}`);
    await workFor(2 * HOUR, MINUTE);
    expect(upstream.serviceOf(vin, '1001')?.status).toBe('INACTIVE');
  });

  test('a vehicle that may not join the account has nothing to end there', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    upstream.blacklist.add(vehicle.vin);
    const change = time(HOUR);
    const one = await contract(acme, vehicle, { ...basic, to: change });
    const next = await contract(acme, vehicle, { pack: 'failing', from: change });
    await workFor(HOUR + 10 * MINUTE, 5 * MINUTE);
    expect([await stateOf(acme, one), await stateOf(acme, next)]).toEqual([
      ['ENDED'],
      ['REJECTED', 'VEHICLE_BLACKLISTED', 'MANUFACTURER'],
    ]);
  });

  test('a contract that begins while the end before it is on its way is carried out', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const first = await contract(acme, vehicle, basic);
    await workFor(4 * MINUTE, MINUTE);
    upstream.endsAfterMs = 5 * MINUTE;
    await acme.delete(`/contracts/${first.id}`);
    await work();
    const second = await contract(acme, vehicle, basic);
    await workFor(HOUR, MINUTE);
    expect([await stateOf(acme, second), upstream.serviceOf(vehicle.vin, '1001')?.status]).toEqual([
      ['ACTIVE'],
      'ACTIVE',
    ]);
  });

  test('a status that the document does not have neither begins nor ends anything', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, basic);
    await workFor(4 * MINUTE, MINUTE);
    const service = { serviceId: '1001', status: 'PAUSED', orderTime: 1 };
    upstream.behaves = ({ endpoint }) =>
      endpoint === 'service-status' ? json(200, { vin: vehicle.vin, deltaPush: true, services: [service] }) : null;
    upstream.received.length = 0;
    passTime(1.2 * DAY);
    await work();
    expect(received()).not.toContain('POST /v2/accounts/vehicles/services');
    expect((await stateOf(acme, one)).slice(0, 2)).toEqual(['ACTIVE', 'PROVIDER_BAD_ANSWER']);
    await acme.delete(`/contracts/${one.id}`);
    await workFor(10 * MINUTE, MINUTE);
    expect(await programsLeft(vehicle.vin)).toEqual([{ program: '1001', state: 'ENDING' }]);
  });

  test('a time of order that no date can have is no time', async () => {
    upstream.serves = () => ({ status: 'ACTIVE', afterMs: HOUR });
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, { pack: 'basic' });
    await work();
    await gateway.execute(`update activation set state = 'FAILED', due_at = now() where vin = '${vehicle.vin}'`);
    const services = [{ serviceId: '1001', status: 'ACTIVATION_PENDING', orderTime: 1e20 }];
    upstream.behaves = ({ endpoint }) =>
      endpoint === 'service-status' ? json(200, { vin: vehicle.vin, services }) : null;
    await workFor(2 * MINUTE, MINUTE);
    const [row] = await gateway.execute(`select state from activation where vin = '${vehicle.vin}'`);
    expect([row, await stateOf(acme, one)]).toEqual([{ state: 'PENDING' }, ['PENDING']]);
  });

  test('of a request that is all or nothing, what is at fault stands alone', async () => {
    const vins = mercedes(40);
    const [blacklisted = '', consenting = ''] = vins;
    vins[2] = `${vins[2]?.slice(0, 16)}X`;
    upstream.blacklist.add(blacklisted);
    const vehicles = await addVehicles(acme, vins);
    const contracts = await Promise.all(vehicles.map((vehicle) => contract(acme, vehicle, basic)));
    const consent = await contract(
      acme,
      vehicles.find(({ vin }) => vin === consenting),
      { pack: 'consent' },
    );
    await workFor(4 * MINUTE, MINUTE);
    const states = await Promise.all([...contracts, consent].map((one) => stateOf(acme, one)));
    expect(states).toEqual([
      ['REJECTED', 'VEHICLE_BLACKLISTED', 'MANUFACTURER'],
      ['ACTIVE'],
      ['FAILED', 'VIN_REFUSED', 'CUSTOMER'],
      ...Array(37).fill(['ACTIVE']),
      ['FAILED', 'PACK_NOT_OFFERED', 'OPERATOR'],
    ]);
    expect(received().filter((one) => one.startsWith('POST')).length).toBeLessThan(8);
  });

  test('a service that the account may not order holds back no other vehicle', async () => {
    const vehicles = await addVehicles(acme, mercedes(3));
    const barred = await contract(acme, vehicles[0], { pack: 'barred' });
    const others = await Promise.all(vehicles.map((vehicle) => contract(acme, vehicle, basic)));
    await workFor(4 * MINUTE, MINUTE);
    for (const one of others) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
    expect(await stateOf(acme, barred)).toEqual(['FAILED', 'PACK_NOT_OFFERED', 'OPERATOR']);
  });

  test('an end that the account may not order, or look at, is asked for again', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, { ...basic, to: time(HOUR) });
    await workFor(4 * MINUTE, MINUTE);
    const noPermission = json(400, { type: '/vehicles/services/no-permission', statusCode: 400, services: ['1001'] });
    passTime(HOUR);
    for (const endpoint of ['services', 'service-status']) {
      upstream.behaves = (asked) => (asked.endpoint === endpoint ? noPermission : null);
      await workFor(2 * HOUR, MINUTE);
      expect((await stateOf(acme, one))[0]).toBe('ENDING');
    }
    upstream.behaves = () => null;
    await workFor(2 * DAY, HOUR);
    expect(await stateOf(acme, one)).toEqual(['ENDED']);
    expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('INACTIVE');
  });

  test.each([
    ['a VIN that it does not accept', 400, { type: '/error/validation-error', validationErrors: [{ field: 'vin' }] }],
    ['a vehicle that is on its blacklist', 403, { type: '/vehicle/blacklist' }],
  ])('a contract ends also where Mercedes-Benz answers nothing else of %s', async (_, status, body) => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const isOfVehicle = (endpoint: string) => /^(vehicles|services|service-status)$/.test(endpoint);
    upstream.behaves = ({ endpoint }) =>
      isOfVehicle(endpoint) ? json(status, { ...body, vins: [vehicle.vin] }) : null;
    const one = await contract(acme, vehicle, { ...basic, to: time(HOUR) });
    await workFor(10 * MINUTE, MINUTE);
    expect(['FAILED', 'REJECTED']).toContain((await stateOf(acme, one))[0]);
    passTime(HOUR);
    await workFor(2 * HOUR, MINUTE);
    const [state, ...why] = await stateOf(acme, one);
    expect([state, why.length > 0]).toEqual(status === 400 ? ['ENDED', false] : ['ENDING', true]);
    if (status === 403) upstream.behaves = () => null;
    await workFor(3 * DAY, HOUR);
    expect([await stateOf(acme, one), await programsLeft(vehicle.vin)]).toEqual([['ENDED'], []]);
  });

  test('a look that the account may not make says nothing of a service that is active', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, basic);
    await workFor(4 * MINUTE, MINUTE);
    const noPermission = json(400, { type: '/vehicles/services/no-permission', statusCode: 400, services: ['1001'] });
    upstream.behaves = (asked) => (asked.endpoint === 'service-status' ? noPermission : null);
    await workFor(2 * DAY, HOUR);
    expect((await stateOf(acme, one))[0]).toBe('ACTIVE');
    Object.assign(upstream.serviceOf(vehicle.vin, '1001') ?? {}, { status: 'INACTIVE', next: null });
    upstream.behaves = () => null;
    await workFor(HOUR, 10 * MINUTE);
    expect(await stateOf(acme, one)).toEqual(['REJECTED', 'ACCESS_REVOKED', 'MANUFACTURER']);
  });

  test.each([
    ['NOT_AVAILABLE', false, ['REJECTED', 'NO_SERVICE_AVAILABLE', 'MANUFACTURER']],
    ['ACTIVATION_FAILED', false, ['REJECTED', 'ACTIVATION_REJECTED', 'MANUFACTURER']],
    ['ACTIVATION_FAILED', true, ['FAILED', 'LICENCE_EXPIRED', 'OPERATOR']],
  ] as const)('a service that is %s, its licence expired: %s', async (status, expired, state) => {
    upstream.serves = () => ({ status, afterMs: 0 });
    if (expired) upstream.expired.add('2001');
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, { pack: 'failing' });
    await workFor(4 * MINUTE, MINUTE);
    expect(await stateOf(acme, one)).toEqual(state);
    // It is not asked again by itself, but by its caller.
    const asked = () => upstream.received.filter(({ path, body }) => `${path} ${body}`.includes(vehicle.vin)).length;
    const before = asked();
    await workFor(2 * DAY, HOUR);
    expect(asked()).toBe(before);
    Object.assign(upstream, { serves: soon }).expired.clear();
    await acme.post(`/contracts/${one.id}/activation/refresh`, undefined);
    await workFor(5 * MINUTE, MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test('a pack without services there is the operator’s', async () => {
    const one = await contract(acme, await addVehicle(acme, newVin(0, 'W1K')), { pack: 'unheard-of' });
    await work();
    expect(await stateOf(acme, one)).toEqual(['UNSUPPORTED', 'PACK_NOT_OFFERED', 'OPERATOR']);
  });

  test('a vehicle that left the account joins it again', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, basic);
    await workFor(4 * MINUTE, MINUTE);
    upstream.account.delete(vehicle.vin);
    upstream.services.clear();
    await workFor(2 * DAY, HOUR);
    expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('ACTIVE');
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test.each([
    ['Mercedes-Benz', 'W1K', 'service-status', text(404, '<h1>Not found</h1>')],
    ['Mercedes-Benz', 'W1K', 'service-status', json(404, {})],
    ['Mercedes-Benz', 'W1K', 'service-status', json(200, { vin: 'W1K2130041A000009', deltaPush: true, services: [] })],
    ['High Mobility', 'WBA', 'clearance-end', text(404, '<h1>Not found</h1>')],
    ['High Mobility', 'WBA', 'clearance-list', json(200, [])],
  ] as const)(
    'an end is not confirmed by a server in between, or by silence about the vehicle: %s, %s, %s',
    async (_name, wmi, endpoint, behaviour) => {
      const vehicle = await addVehicle(acme, newVin(0, wmi));
      const one = await contract(acme, vehicle, { ...basic, to: time(HOUR) });
      await workFor(4 * MINUTE, MINUTE);
      upstream.behaves = (asked) => (asked.endpoint === endpoint ? behaviour : null);
      passTime(HOUR);
      await work();
      expect((await stateOf(acme, one))[0]).toBe('ENDING');
      upstream.behaves = () => null;
      await workFor(2 * HOUR, MINUTE);
      expect(await stateOf(acme, one)).toEqual(['ENDED']);
      const status = upstream.serviceOf(vehicle.vin, '1001')?.status ?? upstream.clearanceOf(vehicle.vin)?.status;
      expect(status).toMatch(/INACTIVE|revoked/);
    },
  );
});
