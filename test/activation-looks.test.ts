import { afterEach, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE, startActivations, stateOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicle, newVin } from './support/factories.ts';
import { hasDocuments } from './support/published.ts';
import { json } from './support/upstream.ts';

// When manufacturers are asked how programs stand.

const { gateway, upstream, clock, time, passTime, work, workFor, contract } = await startActivations({
  packs: { basic: ['1001'], more: ['1002', '2001'] },
  breakAfter: 1000,
});
const acme = await gateway.as('acme');
const basic = { pack: 'basic' };
const makes = [
  ['High Mobility', 'WBA'],
  ['Mercedes-Benz', 'W1K'],
] as const;

afterEach(() => {
  upstream.behaves = () => null;
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});

/** When the vehicle was looked at, in ms since `start`. */
function looksAt({ vin }: Json, start: number): number[] {
  const found: number[] = [];
  upstream.behaves = ({ endpoint, path }) => {
    const isLook = endpoint === 'clearance-list' || endpoint === 'service-status';
    if (isLook && path.includes(vin)) found.push(clock() - start);
    return null;
  };
  return found;
}

/** Pauses are spread by a tenth, and end with the next step. */
function expectPauses(found: readonly number[], pauses: readonly number[], step: number): void {
  const got = found.map((at, n) => at - (found[n - 1] ?? 0));
  const isLike = (n: number) => (got[n] ?? 0) >= (pauses[n] ?? 0) && (got[n] ?? 0) <= 1.1 * (pauses[n] ?? 0) + 2 * step;
  expect(got.map((pause, n) => (isLike(n) ? pauses[n] : pause))).toEqual(pauses);
}

test.each(makes)(
  '%s: what is pending is looked at after 1, 5, 15 and 60 minutes, then every six hours',
  async (_, wmi) => {
    upstream.decide = () => ({ status: 'approved', afterMs: 3 * DAY });
    upstream.serves = () => ({ status: 'ACTIVE', afterMs: 3 * DAY });
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    await contract(acme, vehicle, basic);
    await work();
    const found = looksAt(vehicle, clock());
    await workFor(9 * HOUR, MINUTE);
    expectPauses(found, [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR], MINUTE);
  },
);

test('all services of a vehicle are looked at at the same time, since one look answers for them', async () => {
  upstream.serves = () => ({ status: 'ACTIVE', afterMs: 3 * DAY });
  const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
  const contracts = [await contract(acme, vehicle, basic), await contract(acme, vehicle, { pack: 'more' })];
  const nextAttempts = () =>
    Promise.all(contracts.map(async ({ id }) => (await acme.get(`/contracts/${id}`)).body.activation.nextAttemptAt));
  await work();
  const [first, ...others] = await nextAttempts();
  expect([typeof first, others]).toEqual(['string', [first]]);
  upstream.behaves = () => json(503, {});
  await workFor(2 * MINUTE, 2 * MINUTE);
  const [second, ...again] = await nextAttempts();
  expect([second > first, again]).toEqual([true, [second]]);
});

test.each(makes)('%s: what has ended is looked at after 5 minutes, an hour and a day', async (_, wmi) => {
  upstream.decide = () => ({ status: 'approved', afterMs: 0 });
  upstream.serves = () => ({ status: 'ACTIVE', afterMs: 0 });
  const vehicle = await addVehicle(acme, newVin(0, wmi));
  const one = await contract(acme, vehicle, { ...basic, to: time(HOUR) });
  await workFor(10 * MINUTE, MINUTE);
  passTime(HOUR);
  while ((await stateOf(acme, one))[0] !== 'ENDED') {
    await work();
    passTime(10_000);
  }
  const found = looksAt(vehicle, clock());
  await workFor(2 * HOUR, MINUTE);
  await workFor(2 * DAY, 5 * MINUTE);
  expectPauses(found, [5 * MINUTE, HOUR, DAY], 5 * MINUTE);
  expect(await gateway.execute(`select from activation where vin = '${vehicle.vin}'`)).toEqual([]);
});

test.each(makes)(
  '%s: a contract whose program is found on after its end is ending again, without a word',
  async (_, wmi) => {
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    const before = await contract(acme, vehicle, { ...basic, to: time(HOUR) });
    const one = await contract(acme, vehicle, { ...basic, from: time(HOUR), to: time(3 * HOUR) });
    await workFor(8 * HOUR, 20 * MINUTE);
    expect([await stateOf(acme, before), await stateOf(acme, one)]).toEqual([['ENDED'], ['ENDED']]);
    const events = async () => (await acme.get(`/events?vin=${vehicle.vin}&limit=100`)).body.length;
    const said = await events();
    // It was carried out late, and is ended in hours.
    Object.assign(upstream.clearanceOf(vehicle.vin) ?? {}, { status: 'approved' });
    Object.assign(upstream.serviceOf(vehicle.vin, '1001') ?? {}, { status: 'ACTIVE' });
    upstream.endsAfterMs = 5 * HOUR;
    for (let hours = 0; hours < 30 && (await stateOf(acme, one))[0] === 'ENDED'; hours++) await workFor(HOUR, HOUR);
    expect(await stateOf(acme, before)).toEqual(['ENDED']);
    expect(await stateOf(acme, one)).toEqual(['ENDING', 'END_NOT_CONFIRMED', 'MANUFACTURER']);
    await workFor(20 * HOUR, HOUR);
    upstream.endsAfterMs = 0;
    expect([await stateOf(acme, one), await events()]).toEqual([['ENDED'], said]);
  },
);
