import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { claimant, claimDueActivations } from '../src/core/activation/due-activations.ts';
import { contextOf } from '../src/core/context.ts';
import { recordContractPeriods } from '../src/core/contracts/contracts.ts';
import { publish } from '../src/jobs/publish-events.ts';
import { DAY, HOUR, MINUTE, startActivations, stateOf, toolsOf } from './support/activations.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicle, addVehicles, newVin, newVins } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { type Behaviour, hangUp, json } from './support/upstream.ts';

// What is wanted changes at once, answers come late, and lists lag behind.

const SECRET = 'a secret of High Mobility’s page';
const { gateway, upstream, clock, time, passTime, work, workFor, contract } = await startActivations({
  packs: { basic: ['1001'], more: ['1001', '1002'], second: ['1002'], third: ['2001'] },
  settings: { HIGH_MOBILITY_WEBHOOK_SECRET: SECRET },
  breakAfter: 1000,
});
const [acme, globex] = [await gateway.as('acme'), await gateway.as('globex')];
const makes = [
  ['High Mobility', 'WBA'],
  ['Mercedes-Benz', 'W1K'],
] as const;
const basic = { pack: 'basic' };

const isOn = ({ vin }: Json) =>
  ['approved', 'pending', 'ACTIVE', 'ACTIVATION_PENDING'].includes(
    upstream.clearanceOf(vin)?.status ?? upstream.serviceOf(vin, '1001')?.status ?? '',
  );
const ends = () =>
  upstream.received.filter(({ endpoint, body }) => endpoint === 'clearance-end' || body.includes('INACTIVE')).length;
const asked = (vin: string) => upstream.received.filter(({ path, body }) => `${path} ${body}`.includes(vin)).length;
const record = (company: string) => recordContractPeriods(contextOf(gateway.services, 'job', null), company);
/** What manufacturers said about a contract. */
async function eventsOf(client: Client, { id, vin }: Json): Promise<Json[]> {
  await work();
  const { body } = await client.get(`/events?vin=${vin}&limit=100`);
  return body.filter((one: Json) => one.contractId === id && /activated|rejected|failed/.test(one.type));
}
const typesOf = async (client: Client, one: Json) => (await eventsOf(client, one)).map(({ type }) => type);
const remove = (client: Client, { id }: Json) => client.delete(`/contracts/${id}`);
/** Carries a request out when it is called, after the connection was closed without an answer. */
function late(): { behaviour: Behaviour; carryOut: () => Promise<unknown> } {
  let carryOut = async (): Promise<unknown> => expect.fail('nothing was asked');
  return {
    behaviour(response, received) {
      carryOut = received.carryOut;
      response.destroy();
    },
    carryOut: () => carryOut(),
  };
}

afterEach(async () => {
  if (hasDocuments) expect(upstream.faults).toEqual([]);
  upstream.received.length = 0;
  Object.assign(upstream, { behaves: () => null, endsAfterMs: 0, decide: () => ({ status: 'approved', afterMs: 0 }) });
  upstream.serves = () => ({ status: 'ACTIVE', afterMs: 0 });
  await gateway.execute('update activation set due_at = null');
});

describe(`What contracts need${unlessMissing}`, () => {
  test.each(makes)('%s: contracts that follow each other are seen before they are planned', async (_, wmi) => {
    // A step plans 500 contracts.
    const vins = newVins(260, 0, wmi);
    const [{ fleetId }] = (await addVehicles(acme, vins)) as [Json];
    const [first, change] = [time(-1000), time(HOUR)];
    for (const period of [
      { from: first, to: change },
      { from: change, to: time(300 * DAY) },
    ]) {
      const terms = { fleetId, vins, name: 'n', description: 'd', pack: 'basic', ...period };
      expect((await acme.post('/contracts/bulk', terms)).status).toBe(201);
    }
    await workFor(10 * MINUTE, 2 * MINUTE);
    for (const vin of vins) expect([vin, isOn({ vin })]).toEqual([vin, true]);
    passTime(HOUR);
    await record('acme');
    await work();
    expect(ends()).toBe(0);
    await workFor(10 * MINUTE, 2 * MINUTE);
    expect(ends()).toBe(0);
  });

  test.each(makes)('%s: a contract of another company is seen before it is planned', async (_, wmi) => {
    const vin = newVin(0, wmi);
    const change = time(2 * HOUR);
    const one = await contract(acme, await addVehicle(acme, vin), { ...basic, to: change });
    const next = await contract(globex, await addVehicle(globex, vin), { ...basic, from: change });
    await workFor(10 * MINUTE, 2 * MINUTE);
    passTime(2 * HOUR);
    await record('acme');
    const { behaves } = upstream;
    await work();
    upstream.behaves = behaves;
    expect(ends()).toBe(0);
    await workFor(10 * MINUTE, MINUTE);
    expect([ends(), isOn({ vin })]).toEqual([0, true]);
    expect([await stateOf(acme, one), await stateOf(globex, next)]).toEqual([['ENDED'], ['ACTIVE']]);
    // What the first company began is known to the second, and ended with its contract.
    await remove(globex, next);
    await workFor(3 * HOUR, 10 * MINUTE);
    expect(isOn({ vin })).toBe(false);
  });

  test.each(makes)('%s: an end waits for a contract that begins within an hour', async (_, wmi) => {
    const [near, far] = (await addVehicles(acme, newVins(2, 0, wmi))) as [Json, Json];
    const ending = [
      await contract(acme, near, { ...basic, to: time(HOUR) }),
      await contract(acme, far, { ...basic, to: time(HOUR) }),
    ];
    const begins = time(HOUR + 50 * MINUTE);
    const next = await contract(acme, near, { ...basic, from: begins });
    await contract(acme, far, { ...basic, from: time(HOUR + 70 * MINUTE) });
    await workFor(10 * MINUTE, 2 * MINUTE);
    passTime(51 * MINUTE);
    await work();
    expect([isOn(near), ends()]).toEqual([true, 1]);
    expect(await stateOf(acme, ending[0] as Json)).toEqual(['ENDING', 'WAITING_FOR_GAP', 'NONE']);
    const { nextAttemptAt } = (await acme.get(`/contracts/${ending[0]?.id}`)).body.activation;
    expect(Date.parse(nextAttemptAt)).toBeGreaterThanOrEqual(Date.parse(begins));
    await workFor(HOUR, 5 * MINUTE);
    expect([isOn(near), ends()]).toEqual([true, 1]);
    expect([await stateOf(acme, ending[0] as Json), await stateOf(acme, next)]).toEqual([['ENDED'], ['ACTIVE']]);
  });

  test('an end waits no longer when the contract that it waited for is deleted', async () => {
    const vehicle = await addVehicle(acme);
    const one = await contract(acme, vehicle, { to: time(HOUR) });
    const next = await contract(acme, vehicle, { from: time(HOUR + 50 * MINUTE) });
    await workFor(10 * MINUTE, 2 * MINUTE);
    passTime(51 * MINUTE);
    await work();
    expect(isOn(vehicle)).toBe(true);
    await remove(acme, next);
    await workFor(4 * MINUTE, MINUTE);
    expect([isOn(vehicle), await stateOf(acme, one)]).toEqual([false, ['ENDED']]);
  });
});

describe(`Ends${unlessMissing}`, () => {
  test.each([
    ['High Mobility', 'WBA', 'clearances'],
    ['Mercedes-Benz', 'W1K', 'services'],
  ] as const)('%s carries a beginning out after the end: it is found, ended and counted', async (_, wmi, endpoint) => {
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    const { behaviour, carryOut } = late();
    upstream.next(endpoint, behaviour);
    const one = await contract(acme, vehicle, basic);
    await work();
    await remove(acme, one);
    await workFor(4 * MINUTE, MINUTE);
    expect(ends()).toBe(1);
    await carryOut();
    expect(isOn(vehicle)).toBe(true);
    const found: [string, number][] = [];
    const count = (of: string, name: string, times: number) => of === 'found' && found.push([name, times]);
    gateway.services.changes.on('outcome', count);
    await workFor(10 * MINUTE, MINUTE);
    gateway.services.changes.off('outcome', count);
    expect(isOn(vehicle)).toBe(false);
    expect(found).toEqual([[wmi === 'WBA' ? 'high-mobility' : 'connect-your-fleet', 1]]);
    await workFor(3 * DAY, 6 * HOUR);
    expect(await gateway.execute(`select from activation where vin = '${vehicle.vin}'`)).toEqual([]);
  });

  test('what was ordered and is not listed yet is ended all the same', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    upstream.behaves = ({ endpoint }) =>
      endpoint === 'service-status' ? json(200, { vin: vehicle.vin, deltaPush: true, services: [] }) : null;
    const one = await contract(acme, vehicle, basic);
    await work();
    await remove(acme, one);
    await work();
    upstream.behaves = () => null;
    expect([isOn(vehicle), ends()]).toEqual([false, 1]);
  });

  test('a vehicle that the list lacks and a creation refuses may be cleared: looks decide', async () => {
    const vehicle = await addVehicle(acme);
    const one = await contract(acme, vehicle);
    await work();
    expect(isOn(vehicle)).toBe(true);
    const error = { vin: vehicle.vin, status: 'error', description: 'clearance exists' };
    upstream.behaves = ({ endpoint }) =>
      endpoint === 'clearance-list'
        ? json(200, [])
        : endpoint === 'clearances'
          ? json(200, { vehicles: [error] })
          : null;
    await workFor(4 * MINUTE, MINUTE);
    expect((await stateOf(acme, one)).slice(0, 2)).toEqual(['FAILED', 'REFUSED']);
    upstream.behaves = () => null;
    await workFor(20 * MINUTE, MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test('the end of what is not decided yet says why it waits, and until when', async () => {
    upstream.decide = () => ({ status: 'approved', afterMs: 2 * DAY });
    const vehicle = await addVehicle(acme);
    const one = await contract(acme, vehicle, { to: time(HOUR) });
    await work();
    passTime(HOUR);
    await work();
    expect(await stateOf(acme, one)).toEqual(['ENDING', 'CANCELLATION_NOT_SUPPORTED', 'MANUFACTURER']);
    const { nextAttemptAt } = (await acme.get(`/contracts/${one.id}`)).body.activation;
    expect(Date.parse(nextAttemptAt)).toBeGreaterThan(clock());
    await workFor(3 * DAY, HOUR);
    expect([isOn(vehicle), await stateOf(acme, one)]).toEqual([false, ['ENDED']]);
    expect(await typesOf(acme, one)).toEqual([]);
  });
});

describe(`Looks${unlessMissing}`, () => {
  const deliver = (body: string) =>
    fetch(`${gateway.url}/providers/high-mobility/events`, {
      method: 'POST',
      body,
      headers: { 'x-hm-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}` },
    });

  test('changes of contracts and webhooks do not count as looks, and no vehicle is looked at twice in 30 s', async () => {
    upstream.decide = () => ({ status: 'approved', afterMs: HOUR });
    const vehicle = await addVehicle(acme);
    const one = await contract(acme, vehicle);
    await work();
    for (let n = 0; n < 8; n++) {
      await acme.patch(`/contracts/${one.id}`, { to: time((n + 2) * DAY) });
      await deliver(JSON.stringify({ event: { id: `${n}` }, vin: vehicle.vin }));
      await work();
      passTime(8000);
    }
    // One creation, then looks of 64 s.
    expect(asked(vehicle.vin)).toBeLessThanOrEqual(1 + 3);
    const { nextAttemptAt } = (await acme.get(`/contracts/${one.id}`)).body.activation;
    expect(Date.parse(nextAttemptAt) - clock()).toBeLessThanOrEqual(1.1 * 60_000);
  });
});

describe(`What was decided against${unlessMissing}`, () => {
  test.each(makes)('%s: is not asked for again when it is looked at', async (_, wmi) => {
    upstream.decide = () => ({ status: 'rejected', afterMs: 0 });
    upstream.serves = () => ({ status: 'NOT_AVAILABLE', afterMs: 0 });
    const one = await contract(acme, await addVehicle(acme, newVin(0, wmi)), basic);
    const orders = () => upstream.count('clearances') + upstream.count('services');
    await workFor(4 * MINUTE, MINUTE);
    expect([(await stateOf(acme, one))[0], orders()]).toEqual(['REJECTED', 1]);
    await acme.patch(`/contracts/${one.id}`, { to: time(DAY) });
    await workFor(4 * MINUTE, MINUTE);
    expect([await typesOf(acme, one), orders()]).toEqual([['contract.rejected'], 1]);
  });
});

describe(`What was decided against for a contract${unlessMissing}`, () => {
  test.each([
    [
      'a service that was turned off',
      'W1K',
      ({ vin }: Json) => Object.assign(upstream.serviceOf(vin, '1001') ?? {}, { status: 'INACTIVE' }),
    ],
    [
      'a vehicle that left the account',
      'W1K',
      ({ vin }: Json) => {
        Object.assign(upstream.serviceOf(vin, '1001') ?? {}, { status: 'NOT_AVAILABLE' });
        return () => {
          upstream.account.delete(vin);
          upstream.services.delete(`${vin} 1001`);
        };
      },
    ],
    [
      'a clearance that the list lacks',
      'WBA',
      ({ vin }: Json) => {
        Object.assign(upstream.clearanceOf(vin) ?? {}, { status: 'rejected' });
        return () => upstream.always('clearance-list', json(200, []));
      },
    ],
  ] as const)('stays so when another one ends, and keeps its reason: %s', async (_, wmi, decide) => {
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    const one = await contract(acme, vehicle, basic);
    const other = await contract(acme, vehicle, { pack: 'more', from: time(5 * DAY), to: time(9 * DAY) });
    await workFor(5 * MINUTE, MINUTE);
    const forget = decide(vehicle);
    await workFor(2 * DAY, 6 * HOUR);
    const before = await stateOf(acme, one);
    expect(before[0]).toBe('REJECTED');
    upstream.received.length = 0;
    if (typeof forget === 'function') forget();
    upstream.behaves = ({ endpoint }) => (/list|status/.test(endpoint) ? hangUp : null);
    await remove(acme, other);
    await work();
    expect(await stateOf(acme, one)).toEqual(before);
    upstream.behaves = () => null;
    await workFor(HOUR, 10 * MINUTE);
    upstream.always('clearance-list', undefined);
    expect(asked(vehicle.vin)).toBeGreaterThan(0);
    expect([await stateOf(acme, one), upstream.count('clearances') + upstream.count('services')]).toEqual([before, 0]);
  });
});

describe(`What is on again for another company${unlessMissing}`, () => {
  test.each(makes)('%s: is on for contracts of all that it was decided against', async (_, wmi) => {
    const vin = newVin(0, wmi);
    const one = await contract(acme, await addVehicle(acme, vin), basic);
    await workFor(5 * MINUTE, MINUTE);
    passTime(3 * DAY);
    const timestamp = time(-1000);
    upstream.clearanceOf(vin)?.changelog.push({ timestamp, status: 'revoked', reason: 'Vehicle sold' });
    Object.assign(upstream.clearanceOf(vin) ?? {}, { status: 'revoked', next: null });
    Object.assign(upstream.serviceOf(vin, '1001') ?? {}, { status: 'INACTIVE', next: null });
    await work();
    expect((await stateOf(acme, one))[0]).toBe('REJECTED');
    const other = await contract(globex, await addVehicle(globex, vin), basic);
    await workFor(5 * MINUTE, MINUTE);
    expect([await stateOf(globex, other), await stateOf(acme, one)]).toEqual([['ACTIVE'], ['ACTIVE']]);
    expect((await typesOf(acme, one)).at(-1)).toBe('contract.activated');
  });
});

describe(`A new contract${unlessMissing}`, () => {
  test.each([
    ['the same company', () => acme],
    ['another company', () => globex],
  ])('is a new question, though the list says what was decided before: %s', async (_, client) => {
    upstream.decide = () => ({ status: 'rejected', afterMs: 0, reason: 'privacy mode is enabled' });
    const vehicle = await addVehicle(acme);
    const before = await contract(acme, vehicle);
    await workFor(4 * MINUTE, MINUTE);
    expect((await stateOf(acme, before))[0]).toBe('REJECTED');
    const old = structuredClone(upstream.clearanceOf(vehicle.vin));
    const { next: _next, ...listed } = old as Json;
    await remove(acme, before);
    await work();
    passTime(DAY);
    upstream.decide = () => ({ status: 'approved', afterMs: 10 * MINUTE });
    const own = client() === acme ? vehicle : await addVehicle(globex, vehicle.vin);
    const after = await contract(client(), own);
    await work();
    expect(upstream.count('clearances')).toBe(2);
    upstream.behaves = ({ endpoint }) => (endpoint === 'clearance-list' ? json(200, [listed]) : null);
    await workFor(2 * MINUTE, MINUTE);
    expect(await stateOf(client(), after)).toEqual(['PENDING']);
    upstream.behaves = () => null;
    await workFor(HOUR, 10 * MINUTE);
    expect(await stateOf(client(), after)).toEqual(['ACTIVE']);
  });

  test.each(makes)('%s: is a new question, also where the process that was to ask it was killed', async (_, wmi) => {
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    await contract(acme, vehicle, { ...basic, to: time(HOUR) });
    await workFor(10 * MINUTE, MINUTE);
    passTime(30 * DAY);
    await work();
    await gateway.execute(`delete from activation where vin = '${vehicle.vin}'`);
    expect(isOn(vehicle)).toBe(false);
    passTime(MINUTE);
    const after = await contract(acme, vehicle, basic);
    await publish(toolsOf(gateway)).run(new AbortController().signal);
    const job = contextOf(gateway.services, 'job', null);
    expect((await claimDueActivations(job, 'acme', 1000)).map(({ vin }) => vin)).toEqual([vehicle.vin]);
    passTime(3 * HOUR);
    await workFor(10 * MINUTE, MINUTE);
    expect([await stateOf(acme, after), isOn(vehicle)]).toEqual([['ACTIVE'], true]);
  });

  test.each(makes)('%s: is answered by what is decided after its process was killed', async (_, wmi) => {
    upstream.decide = () => ({ status: 'rejected', afterMs: 0 });
    upstream.serves = () => ({ status: 'ACTIVATION_FAILED', afterMs: 0 });
    const one = await contract(acme, await addVehicle(acme, newVin(0, wmi)), basic);
    await publish(toolsOf(gateway)).run(new AbortController().signal);
    const job = contextOf(gateway.services, 'job', null);
    const [program] = await claimDueActivations(job, 'acme', 1000);
    if (!program) return expect.fail('nothing was claimed');
    const { activatorOf } = gateway.services.manufacturers;
    await activatorOf(program.provider)?.activate(
      [program],
      claimant(job, program.until, () => Number.POSITIVE_INFINITY),
    );
    passTime(3 * HOUR);
    await workFor(2 * HOUR, 10 * MINUTE);
    expect((await stateOf(acme, one)).slice(0, 2)).toEqual(['REJECTED', 'ACTIVATION_REJECTED']);
    expect(upstream.count('clearances') + upstream.count('services')).toBe(1);
  });
});

describe(`What two companies want${unlessMissing}`, () => {
  test.each(makes)('%s: what is rejected is asked for once for each contract, whoever looks at it', async (_, wmi) => {
    upstream.decide = () => ({ status: 'rejected', afterMs: 20 * MINUTE });
    upstream.serves = () => ({ status: 'ACTIVATION_FAILED', afterMs: 20 * MINUTE });
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    const first = await contract(acme, vehicle, basic);
    await workFor(2 * HOUR, MINUTE);
    const second = await contract(globex, await addVehicle(globex, vehicle.vin), basic);
    await workFor(10 * MINUTE, MINUTE);
    // The first company's program is looked at while the second's question is open.
    expect((await acme.patch(`/contracts/${first.id}`, { to: time(20 * DAY) })).status).toBe(200);
    await workFor(12 * HOUR, MINUTE);
    const states = [await stateOf(acme, first), await stateOf(globex, second)];
    expect(states.map(([state]) => state)).toEqual(['REJECTED', 'REJECTED']);
    expect(upstream.count('clearances') + upstream.count('services')).toBe(2);
  });

  test.each(makes)(
    '%s: what one stops waiting for is followed for the other, who was refused before',
    async (_, wmi) => {
      upstream.decide = () => ({ status: 'rejected', afterMs: 0 });
      upstream.serves = () => ({ status: 'ACTIVATION_FAILED', afterMs: 0 });
      const vehicle = await addVehicle(acme, newVin(0, wmi));
      const first = await contract(acme, vehicle, basic);
      await workFor(2 * HOUR, 10 * MINUTE);
      expect((await stateOf(acme, first))[0]).toBe('REJECTED');
      upstream.decide = () => ({ status: 'approved', afterMs: 2 * HOUR });
      upstream.serves = () => ({ status: 'ACTIVE', afterMs: 2 * HOUR });
      const second = await contract(globex, await addVehicle(globex, vehicle.vin), basic);
      await workFor(HOUR, 10 * MINUTE);
      expect([await stateOf(globex, second), (await stateOf(acme, first))[0]]).toEqual([['PENDING'], 'REJECTED']);
      await remove(globex, second);
      await workFor(12 * HOUR, 10 * MINUTE);
      expect(await stateOf(acme, first)).toEqual(['ACTIVE']);
      expect(upstream.count('clearances') + upstream.count('services')).toBe(2);
    },
  );

  test.each(makes)('%s: what is carried out after one has stopped waiting is found for the other', async (_, wmi) => {
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    upstream.decide = () => ({ status: 'rejected', afterMs: 0 });
    upstream.serves = () => ({ status: 'ACTIVATION_FAILED', afterMs: 0 });
    const first = await contract(acme, vehicle, basic);
    await workFor(3 * HOUR, 10 * MINUTE);
    upstream.decide = () => ({ status: 'approved', afterMs: 0 });
    upstream.serves = () => ({ status: 'ACTIVE', afterMs: 0 });
    const { behaviour, carryOut } = late();
    const hanging = [wmi === 'WBA' ? 'clearances' : 'services'];
    upstream.behaves = ({ endpoint }) => (hanging.includes(endpoint) && hanging.pop() ? behaviour : null);
    const second = await contract(globex, await addVehicle(globex, vehicle.vin), basic);
    await work();
    await remove(globex, second);
    await work();
    passTime(10_000);
    await work();
    expect((await stateOf(acme, first))[0]).toBe('REJECTED');
    await carryOut();
    await workFor(2 * HOUR, 5 * MINUTE);
    expect(await stateOf(acme, first)).toEqual(['ACTIVE']);
  });

  test('a program that failed for one is active for both when it is on for the other', async () => {
    upstream.expired.add('1002');
    upstream.serves = () => ({ status: 'ACTIVATION_FAILED', afterMs: 0 });
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const first = await contract(acme, vehicle, { pack: 'second' });
    await workFor(3 * HOUR, 10 * MINUTE);
    expect(await stateOf(acme, first)).toEqual(['FAILED', 'LICENCE_EXPIRED', 'OPERATOR']);
    upstream.expired.delete('1002');
    upstream.serves = () => ({ status: 'ACTIVE', afterMs: 0 });
    const second = await contract(globex, await addVehicle(globex, vehicle.vin), { pack: 'second' });
    await workFor(HOUR, 5 * MINUTE);
    expect([await stateOf(globex, second), await stateOf(acme, first)]).toEqual([['ACTIVE'], ['ACTIVE']]);
  });

  test('looks at what has ended of a vehicle come by their schedule, though both have something else of it', async () => {
    const vin = newVin(0, 'W1K');
    const vehicles = [await addVehicle(acme, vin), await addVehicle(globex, vin)];
    const [own, other] = [{ pack: 'basic' }, { pack: 'third' }];
    const ended = [await contract(acme, vehicles[0], own), await contract(globex, vehicles[1], other)];
    await contract(acme, vehicles[0], { pack: 'second' });
    await contract(globex, vehicles[1], { pack: 'second' });
    await workFor(30 * MINUTE, MINUTE);
    await remove(acme, ended[0]);
    await remove(globex, ended[1]);
    await workFor(30 * MINUTE, MINUTE);
    upstream.received.length = 0;
    await workFor(12 * HOUR, MINUTE);
    expect(upstream.count('service-status')).toBeLessThan(20);
  });

  test.each(makes)('%s: a list that says pending after the rejection orders nothing', async (_, wmi) => {
    upstream.decide = () => ({ status: 'rejected', afterMs: 20 * MINUTE });
    upstream.serves = () => ({ status: 'ACTIVATION_FAILED', afterMs: 20 * MINUTE });
    upstream.lagsMs = () => 10_000;
    const vehicle = await addVehicle(acme, newVin(0, wmi));
    const first = await contract(acme, vehicle, basic);
    await workFor(2 * HOUR, MINUTE);
    await contract(globex, await addVehicle(globex, vehicle.vin), basic);
    await work();
    passTime(20 * MINUTE + 2000);
    expect((await acme.patch(`/contracts/${first.id}`, { to: time(20 * DAY) })).status).toBe(200);
    await work();
    await workFor(2 * HOUR, 20_000);
    upstream.lagsMs = () => 0;
    expect((await stateOf(acme, first))[0]).toBe('REJECTED');
    expect(upstream.count('clearances') + upstream.count('services')).toBe(2);
  });
});

describe(`A new contract that nobody answered about${unlessMissing}`, () => {
  test('stays a new question for as long as that takes', async () => {
    const vehicle = await addVehicle(acme);
    const before = await contract(acme, vehicle);
    await workFor(4 * MINUTE, MINUTE);
    await remove(acme, before);
    await workFor(3 * DAY, 6 * HOUR);
    expect(upstream.clearanceOf(vehicle.vin)?.status).toBe('revoked');
    upstream.behaves = () => hangUp;
    const after = await contract(acme, vehicle);
    await workFor(3 * HOUR, 10 * MINUTE);
    upstream.behaves = () => null;
    await workFor(HOUR, 10 * MINUTE);
    expect(await stateOf(acme, after)).toEqual(['ACTIVE']);
  });

  test('is not answered by an old revocation, though it was refused in passing and could not be looked at since', async () => {
    const vehicle = await addVehicle(acme);
    const { vin } = vehicle;
    const before = await contract(acme, vehicle);
    await workFor(4 * MINUTE, MINUTE);
    await remove(acme, before);
    await workFor(3 * DAY, 6 * HOUR);
    expect(upstream.clearanceOf(vin)?.status).toBe('revoked');
    const error = { vin, status: 'error', description: 'unknown error' };
    const answers: Record<string, Behaviour> = {
      clearances: json(200, { vehicles: [error] }),
      'clearance-list': hangUp,
    };
    upstream.behaves = ({ endpoint }) => answers[endpoint] ?? null;
    const after = await contract(acme, vehicle);
    await workFor(3 * HOUR, 10 * MINUTE);
    expect((await stateOf(acme, after))[0]).toBe('FAILED');
    upstream.behaves = () => null;
    await workFor(HOUR, 10 * MINUTE);
    expect(await stateOf(acme, after)).toEqual(['ACTIVE']);
  });
});

describe(`What people are told${unlessMissing}`, () => {
  test.each(makes)(
    '%s: a deleted contract that was active is deactivated once its end is confirmed',
    async (_, wmi) => {
      upstream.endsAfterMs = 2 * MINUTE;
      const vehicle = await addVehicle(acme, newVin(0, wmi));
      const one = await contract(acme, vehicle, { pack: 'more' });
      await workFor(5 * MINUTE, MINUTE);
      await remove(acme, one);
      await work();
      expect(await typesOf(acme, one)).toEqual(['contract.activated']);
      await workFor(10 * MINUTE, MINUTE);
      const events = await eventsOf(acme, one);
      expect(events.map(({ type }) => type)).toEqual(['contract.activated', 'contract.deactivated']);
      expect(events[1]).toMatchObject({
        fleetId: vehicle.fleetId,
        vehicles: [{ vin: vehicle.vin }],
        data: { name: one.name, pack: 'more', from: one.from, to: one.to, reason: null },
      });
    },
  );

  test('contracts of a deleted vehicle are deactivated, too, and those that never were active are not', async () => {
    upstream.decide = (vin) => ({ status: vin.endsWith('7') ? 'rejected' : 'approved', afterMs: 0 });
    const [active, rejected] = (await addVehicles(acme, [newVin(0), newVin(7)])) as [Json, Json];
    const both = [await contract(acme, active), await contract(acme, rejected)];
    await workFor(4 * MINUTE, MINUTE);
    for (const { id } of [active, rejected]) await acme.delete(`/vehicles/${id}`);
    await workFor(5 * MINUTE, MINUTE);
    expect(await typesOf(acme, both[0] as Json)).toEqual(['contract.activated', 'contract.deactivated']);
    expect(await typesOf(acme, both[1] as Json)).toEqual(['contract.rejected']);
  });

  test.each([
    ['Consent withdrawn by the driver', 'DRIVER'],
    ['Vehicle sold', 'MANUFACTURER'],
  ])('access that is revoked is not asked for again: %s', async (reason, actor) => {
    const vehicle = await addVehicle(acme);
    const one = await contract(acme, vehicle);
    await workFor(4 * MINUTE, MINUTE);
    const clearance = upstream.clearanceOf(vehicle.vin);
    passTime(3 * DAY);
    const timestamp = time(-1000);
    clearance?.changelog.push({ timestamp, status: 'revoked', reason });
    Object.assign(clearance ?? {}, { status: 'revoked', next: null });
    await work();
    expect(await stateOf(acme, one)).toEqual(['REJECTED', 'ACCESS_REVOKED', actor]);
    const events = await eventsOf(acme, one);
    expect(events.map(({ type }) => type)).toEqual(['contract.activated', 'contract.deactivated']);
    expect(events[1]?.data.reason).toMatchObject({ code: 'ACCESS_REVOKED', actor });
    const before = asked(vehicle.vin);
    await workFor(3 * DAY, HOUR);
    expect(asked(vehicle.vin)).toBe(before);
    await acme.post(`/contracts/${one.id}/activation/refresh`, undefined);
    await workFor(5 * MINUTE, MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test('a service that Mercedes-Benz turned off is not ordered again', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const one = await contract(acme, vehicle, basic);
    await workFor(5 * MINUTE, MINUTE);
    passTime(3 * DAY);
    Object.assign(upstream.serviceOf(vehicle.vin, '1001') ?? {}, { status: 'INACTIVE', next: null });
    await workFor(2 * HOUR, HOUR);
    expect(await stateOf(acme, one)).toEqual(['REJECTED', 'ACCESS_REVOKED', 'MANUFACTURER']);
    expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('INACTIVE');
  });

  test('a service that was begun again soon after an end, and turned off later, is not ordered again', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const before = await contract(acme, vehicle, basic);
    await workFor(5 * MINUTE, MINUTE);
    await remove(acme, before);
    await work();
    passTime(10 * MINUTE);
    const one = await contract(acme, vehicle, basic);
    await workFor(10 * HOUR, 10 * MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
    Object.assign(upstream.serviceOf(vehicle.vin, '1001') ?? {}, { status: 'INACTIVE', next: null });
    await workFor(2 * DAY, HOUR);
    expect(await stateOf(acme, one)).toEqual(['REJECTED', 'ACCESS_REVOKED', 'MANUFACTURER']);
    expect(upstream.serviceOf(vehicle.vin, '1001')?.status).toBe('INACTIVE');
  });

  test('an end that was carried out late is the gateway’s own, though an order after it got no answer', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K'));
    const before = await contract(acme, vehicle, basic);
    await workFor(5 * MINUTE, MINUTE);
    const { behaviour, carryOut } = late();
    upstream.next('services', behaviour);
    await remove(acme, before);
    await work();
    const one = await contract(acme, vehicle, basic);
    await workFor(15 * MINUTE, MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
    await carryOut();
    upstream.behaves = ({ endpoint }) => (endpoint === 'services' ? hangUp : null);
    await workFor(2 * HOUR, MINUTE);
    upstream.behaves = () => null;
    await workFor(HOUR, 5 * MINUTE);
    expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test('a look at what another company ended is no end: what was turned off meanwhile is not ordered again', async () => {
    const vin = newVin(0, 'W1K');
    const one = await contract(acme, await addVehicle(acme, vin), basic);
    const other = await contract(globex, await addVehicle(globex, vin), { pack: 'more' });
    await workFor(5 * MINUTE, MINUTE);
    await remove(globex, other);
    await workFor(40 * MINUTE, MINUTE);
    Object.assign(upstream.serviceOf(vin, '1001') ?? {}, { status: 'INACTIVE', next: null });
    expect((await acme.patch(`/contracts/${one.id}`, { to: time(20 * DAY) })).status).toBe(200);
    await workFor(HOUR, 5 * MINUTE);
    expect(await stateOf(acme, one)).toEqual(['REJECTED', 'ACCESS_REVOKED', 'MANUFACTURER']);
    expect(upstream.serviceOf(vin, '1001')?.status).toBe('INACTIVE');
  });

  test.each(makes)(
    '%s: what another company ended, and was asked for before that was carried out, is begun again',
    async (_, wmi) => {
      upstream.endsAfterMs = MINUTE;
      const vin = newVin(0, wmi);
      const before = await contract(globex, await addVehicle(globex, vin), basic);
      await workFor(5 * MINUTE, MINUTE);
      await remove(globex, before);
      await work();
      passTime(MINUTE / 3);
      const one = await contract(acme, await addVehicle(acme, vin), basic);
      // The end is confirmed before the new contract is looked at.
      await workFor(10 * MINUTE, 5000);
      expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
    },
  );

  test.each(makes)(
    '%s: what an end that was carried out late turned off is begun again within minutes',
    async (_, wmi) => {
      const vehicle = await addVehicle(acme, newVin(0, wmi));
      const before = await contract(acme, vehicle, basic);
      await workFor(5 * MINUTE, MINUTE);
      const { behaviour, carryOut } = late();
      upstream.next(wmi === 'WBA' ? 'clearance-end' : 'services', behaviour);
      await remove(acme, before);
      await work();
      const one = await contract(acme, vehicle, basic);
      await workFor(3 * MINUTE, MINUTE);
      expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
      await carryOut();
      passTime(1000);
      expect(isOn(vehicle)).toBe(false);
      await workFor(15 * MINUTE, MINUTE);
      expect([isOn(vehicle), await stateOf(acme, one)]).toEqual([true, ['ACTIVE']]);
    },
  );

  test('what cannot become active has failed, with its reason', async () => {
    const vehicle = await addVehicle(acme, newVin(0, 'W1K').replace(/\d$/, 'X'));
    const one = await contract(acme, vehicle, basic);
    await work();
    const events = await eventsOf(acme, one);
    expect(events.map(({ type }) => type)).toEqual(['contract.failed']);
    expect(events[0]?.data.reason).toMatchObject({ code: 'VIN_REFUSED', actor: 'CUSTOMER' });
  });

  test('what was never asked for ends without a word', async () => {
    upstream.behaves = () => hangUp;
    const one = await contract(acme, await addVehicle(acme), { to: time(HOUR) });
    await work();
    upstream.behaves = () => null;
    passTime(HOUR);
    await workFor(10 * MINUTE, MINUTE);
    expect([await stateOf(acme, one), await typesOf(acme, one)]).toEqual([['ENDED'], []]);
  });
});
