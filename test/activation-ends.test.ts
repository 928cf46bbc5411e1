import { afterEach, describe, expect, test } from 'vitest';
import { claimDueActivations } from '../src/core/activation/due-activations.ts';
import { storeActivations } from '../src/core/activation/store-activations.ts';
import { contextOf } from '../src/core/context.ts';
import { publish } from '../src/jobs/publish-events.ts';
import { DAY, HOUR, MINUTE, startActivations, stateOf, toolsOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { addVehicle, newVin } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { carriedOut } from './support/upstream.ts';

// What becomes known of contracts while their vehicles are asked about.

const { gateway, upstream, time, passTime, work, workFor, contract } = await startActivations({
  packs: { basic: ['1001'], more: ['1001', '1002'] },
});
const acme = await gateway.as('acme');
const makes = [
  ['High Mobility', 'WBA'],
  ['Mercedes-Benz', 'W1K'],
] as const;
const basic = { pack: 'basic' };

/** What manufacturers said about a contract so far. */
async function typesOf({ id, vin }: Json): Promise<string[]> {
  await publish(toolsOf(gateway)).run(new AbortController().signal);
  const { body } = await acme.get(`/events?vin=${vin}&limit=100`);
  const own = body.filter((one: Json) => one.contractId === id && /activated|rejected|failed/.test(one.type));
  return own.map(({ type }: Json) => type);
}

/** Does this once, after the next request to one of these endpoints was carried out, and before it is answered. */
function duringNext(endpoints: RegExp, act: () => Promise<unknown>): void {
  let isOver = false;
  upstream.behaves = ({ endpoint }) => {
    if (isOver || !endpoints.test(endpoint)) return null;
    isOver = true;
    return carriedOut(act);
  };
}

afterEach(async () => {
  if (hasDocuments) expect(upstream.faults).toEqual([]);
  Object.assign(upstream, { behaves: () => null, endsAfterMs: 0, decide: () => ({ status: 'approved', afterMs: 0 }) });
  upstream.serves = () => ({ status: 'ACTIVE', afterMs: 0 });
  await gateway.execute('update activation set due_at = null');
});

describe(`An end that comes while the manufacturer is asked${unlessMissing}`, () => {
  test.each(makes)('%s: is confirmed before the contract is over', async (_, wmi) => {
    upstream.decide = () => ({ status: 'approved', afterMs: 3 * DAY });
    upstream.endsAfterMs = HOUR;
    const one = await contract(acme, await addVehicle(acme, newVin(0, wmi)), basic);
    duringNext(/^clearances$|^services$/, async () => {
      await acme.post(`/contracts/${one.id}/end`, undefined);
      await typesOf(one);
    });
    await work();
    passTime(MINUTE / 3);
    await work();
    expect((await stateOf(acme, one))[0]).toBe('ENDING');
    await workFor(5 * DAY, HOUR);
    expect([await stateOf(acme, one), await typesOf(one)]).toEqual([['ENDED'], []]);
  });

  test.each(makes)('%s: is told of a deleted contract once it is confirmed', async (_, wmi) => {
    upstream.endsAfterMs = HOUR;
    const one = await contract(acme, await addVehicle(acme, newVin(0, wmi)), basic);
    await workFor(5 * MINUTE, MINUTE);
    duringNext(/list|status/, () => acme.delete(`/contracts/${one.id}`));
    passTime(27 * HOUR);
    await work();
    expect(await typesOf(one)).toEqual(['contract.activated']);
    await workFor(3 * HOUR, MINUTE * 10);
    expect(await typesOf(one)).toEqual(['contract.activated', 'contract.deactivated']);
  });

  test.each(makes)('%s: is at once where a contract after it needs the same', async (_, wmi) => {
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    const one = await contract(acme, vehicle, { ...basic, to: time(27 * HOUR) });
    const next = await contract(acme, vehicle, { pack: 'more', from: time(27 * HOUR) });
    await workFor(5 * MINUTE, MINUTE);
    passTime(27 * HOUR);
    await work();
    await workFor(5 * MINUTE, MINUTE);
    expect([await stateOf(acme, one), await stateOf(acme, next)]).toEqual([['ENDED'], ['ACTIVE']]);
  });
});

test(`An answer that is older than a new contract does not reject it${unlessMissing}`, async () => {
  upstream.decide = () => ({ status: 'rejected', afterMs: 0 });
  const vehicle = await addVehicle(acme);
  const old = await contract(acme, vehicle);
  await workFor(5 * MINUTE, MINUTE);
  expect((await stateOf(acme, old))[0]).toBe('REJECTED');
  await acme.patch(`/contracts/${old.id}`, { to: time(20 * DAY) });
  const job = contextOf(gateway.services, 'job', null);
  const program = (await claimDueActivations(job, 'acme', 100)).find(({ vin }) => vin === vehicle.vin);
  if (!program) throw new Error('It is not due.');
  await acme.delete(`/contracts/${old.id}`);
  const one = await contract(acme, vehicle);
  const answer = { outcome: 'STANDS', state: 'REJECTED', reason: program.reason, raw: {}, looked: true } as const;
  await typesOf(one);
  await storeActivations(job, 'acme', [{ program, answer }]);
  expect([await stateOf(acme, one), await typesOf(one)]).toEqual([['PENDING'], []]);
  upstream.decide = () => ({ status: 'approved', afterMs: 0 });
  await workFor(5 * MINUTE, MINUTE);
  expect([await stateOf(acme, one), await typesOf(one)]).toEqual([['ACTIVE'], ['contract.activated']]);
});

test(`An end that takes High Mobility hours is the gateway’s own: what begins meanwhile is asked for again${unlessMissing}`, async () => {
  upstream.endsAfterMs = 3 * HOUR;
  const vehicle = await addVehicle(acme);
  const old = await contract(acme, vehicle);
  await workFor(5 * MINUTE, MINUTE);
  await acme.delete(`/contracts/${old.id}`);
  await workFor(30 * MINUTE, MINUTE);
  const one = await contract(acme, vehicle);
  await workFor(20 * HOUR, 10 * MINUTE);
  expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
});

test(`A rejected contract that waits for the next says so${unlessMissing}`, async () => {
  upstream.decide = () => ({ status: 'rejected', afterMs: 0 });
  const vehicle = await addVehicle(acme);
  const one = await contract(acme, vehicle, { to: time(HOUR) });
  await contract(acme, vehicle, { from: time(HOUR + 50 * MINUTE) });
  await workFor(10 * MINUTE, 2 * MINUTE);
  passTime(51 * MINUTE);
  await work();
  expect(await stateOf(acme, one)).toEqual(['ENDING', 'WAITING_FOR_GAP', 'NONE']);
});

describe(`A driver who revokes access while the list is read${unlessMissing}`, () => {
  test.each([
    ['approved', () => work()],
    ['revoking', () => workFor(2 * DAY, HOUR)],
  ] as const)('is heeded, where it says that the access is %s', async (listed, wait) => {
    const vehicle = await addVehicle(acme);
    const one = await contract(acme, vehicle);
    await wait();
    const change = (status: 'revoking' | 'revoked') => {
      const clearance = upstream.clearanceOf(vehicle.vin);
      clearance?.changelog.push({ timestamp: time(0).slice(0, 19), status, reason: 'Revoked by the driver' });
      Object.assign(clearance ?? {}, { status });
    };
    const { changelog = [] } = upstream.clearanceOf(vehicle.vin) ?? {};
    const looks = () => upstream.count('clearance-list');
    if (listed === 'revoking') change('revoking');
    const earlier = looks();
    duringNext(/clearance-list/, async () => {
      passTime(5000);
      change('revoked');
      passTime(10_000);
    });
    // Each answer is stored with others of its batch, which take their time.
    await acme.patch(`/contracts/${one.id}`, { to: time(20 * DAY) });
    passTime(MINUTE / 2);
    await work();
    expect(looks()).toBe(earlier + 1);
    expect(changelog.at(-1)?.status).toBe('revoked');
    upstream.received.length = 0;
    await acme.patch(`/contracts/${one.id}`, { to: time(21 * DAY) });
    await workFor(5 * MINUTE, MINUTE);
    expect([await stateOf(acme, one), upstream.count('clearances')]).toEqual([
      ['REJECTED', 'ACCESS_REVOKED', 'DRIVER'],
      0,
    ]);
  });
});
