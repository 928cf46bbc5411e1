import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Answer, Client } from './support/client.ts';
import { addVehicle, addVehicles, createFleet, newVin, newVins, unknownId, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

/** A gateway that verifies by the sandbox; the last digit of a VIN determines the answer. */
const gateway = await startGateway({ workers: true });
/** A gateway that verifies nothing. */
const idle = await startGateway();
const few = await startGateway({ settings: { LIMIT_CONNECTIONS: '24' } });
const acme = await gateway.as('acme');
const patient = await idle.as('acme');

const eligibilityOf = (vin: string, headers?: Record<string, string>, client: Client = acme) =>
  client.get(`/vehicles/eligibility/${vin}`, headers);
const wait = (seconds: number) => ({ prefer: `wait=${seconds}` });
/** Waits for the manufacturer's answer. */
const verified = (vin: string): Promise<Answer> =>
  until(async () => {
    const answer = await eligibilityOf(vin, wait(20));
    return answer.status !== 409 && answer;
  });
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('GET /vehicles/eligibility/{vin}', () => {
  test('ELIGIBLE is 200', async () => {
    const { vin, id } = await addVehicle(acme, newVin(1));
    const { status, body } = await verified(vin);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        vin,
        status: 'ELIGIBLE',
        eligible: true,
        manufacturer: 'bmw',
        dataDelivery: ['PULL', 'PUSH'],
        connectivityStatus: 'ACTIVATED',
        primaryUserAssigned: true,
        reason: null,
        attempts: 1,
        verifiedAt: time,
        nextAttemptAt: time,
      },
    });
    expect((await acme.get(`/vehicles/${id}`)).body.eligibility).toEqual({
      status: 'ELIGIBLE',
      eligible: true,
      verifiedAt: body.verifiedAt,
    });
  });

  test('INELIGIBLE is 200, with a reason and its actor', async () => {
    const { vin } = await addVehicle(acme, newVin(7));
    expect(await verified(vin)).toMatchObject({
      status: 200,
      body: {
        status: 'INELIGIBLE',
        eligible: false,
        dataDelivery: [],
        connectivityStatus: null,
        primaryUserAssigned: null,
        reason: { code: 'NOT_ELIGIBLE', message: expect.any(String), actor: 'MANUFACTURER', retryable: true },
      },
    });
  });

  test('PENDING is 409 with Retry-After: the verification is still in progress', async () => {
    const { vin } = await addVehicle(patient);
    const { status, headers, body } = await eligibilityOf(vin, {}, patient);
    expect({ status, body }).toMatchObject({
      status: 409,
      body: { code: 'ELIGIBILITY_IN_PROGRESS', eligibility: { status: 'PENDING', attempts: 0 } },
    });
    const seconds = Number(headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
  });

  test('UNSUPPORTED is 400: a maker without a provider, or an unknown maker', async () => {
    for (const [wmi, detail] of [
      ['ZFF', /ferrari/],
      ['ZZZ', /names no known manufacturer/],
    ] as const) {
      const { vin } = await addVehicle(acme, newVin(0, wmi));
      expect(await eligibilityOf(vin)).toMatchObject({
        status: 400,
        body: { code: 'MANUFACTURER_NOT_SUPPORTED', detail: expect.stringMatching(detail) },
      });
    }
  });

  test.each(['JSON', 'file'])('UNSUPPORTED has its reason from the start, by %s', async (way) => {
    const fleet = await createFleet(patient);
    const [known, unknown] = [newVin(0, 'WP0'), newVin(0, 'ZZZ')];
    if (way === 'JSON') await addVehicles(patient, [known, unknown], fleet);
    else await patient.post('/vehicles/file', uploadForm(fleet.id, `vin\n${known}\n${unknown}`));
    const query = 'query ($vin: String!) { eligibility(vin: $vin) { status reason { code message actor retryable } } }';
    for (const [vin, code, actor] of [
      [known, 'MANUFACTURER_NOT_SUPPORTED', 'OPERATOR'],
      [unknown, 'MANUFACTURER_UNKNOWN', 'CUSTOMER'],
    ]) {
      const { body } = await patient.post('/graphql', { query, variables: { vin } });
      expect(body.data.eligibility).toEqual({
        status: 'UNSUPPORTED',
        reason: { code, actor, message: expect.any(String), retryable: false },
      });
    }
    const { vin } = await addVehicle(patient);
    const { body } = await patient.post('/graphql', { query, variables: { vin } });
    expect(body.data.eligibility).toEqual({ status: 'PENDING', reason: null });
  });

  test('a VIN in no fleet of the company, or malformed, is 404', async () => {
    const { vin } = await addVehicle(await gateway.as('globex'), newVin(1));
    for (const none of [vin, newVin(), 'WBA123', unknownId, '1.0E+16', `${vin}x`]) {
      expect(await eligibilityOf(none)).toMatchObject({ status: 404, body: { code: 'VEHICLE_NOT_FOUND' } });
    }
  });

  test('the VIN may be written as people do', async () => {
    const { vin } = await addVehicle(acme, newVin(1));
    const spelled = encodeURIComponent(` ${vin.slice(0, 3).toLowerCase()}-${vin.slice(3)} `);
    expect(await verified(spelled)).toMatchObject({ status: 200, body: { vin } });
  });

  test('failures of the upstream are retried, and counted', async () => {
    const { vin } = await addVehicle(acme, newVin(9));
    expect(await verified(vin)).toMatchObject({
      status: 200,
      body: { status: 'ELIGIBLE', attempts: 3 },
    });
  });
});

describe('Retry-After of 409', () => {
  const company = async (name: string) => idle.as(name);
  const retryAfter = async (client: Client, vin: string) => {
    const { status, headers } = await eligibilityOf(vin, {}, client);
    expect(status).toBe(409);
    return Number(headers.get('retry-after'));
  };
  /** The service's clock is stopped, so that seconds are exact. */
  const now = new Date();
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now }));
  afterEach(() => void vi.useRealTimers());
  const clock = `'${now.toISOString()}'::timestamptz`;
  const setDue = (vins: readonly string[], due: string) =>
    idle.execute(`update vehicle set due_at = ${clock} ${due} where vin in (${vins.map((vin) => `'${vin}'`).join()})`);
  /** Records `count` answers to the company within the last seconds, as events. */
  const answered = (name: string, count: number, seconds: number) =>
    idle.execute(`insert into event (type, company, actor, at, position)
      select 'eligibility.changed', '${name}', 'system', ${clock} - interval '1 second' * ${seconds} * n / ${count},
        (select coalesce(max(position), 0) from event) + n from generate_series(${count}, 1, -1) n`);

  test('is the time to the next attempt, up to a quarter of an hour', async () => {
    const client = await company('next-attempt');
    const { vin } = await addVehicle(client);
    for (const [seconds, told] of [
      [40, 40],
      [400, 400],
      [90_000, 900],
    ] as const) {
      await setDue([vin], `+ interval '${seconds} seconds'`);
      expect(await retryAfter(client, vin)).toBe(told);
    }
  });

  test('is the time for the vehicles before it, at the rate of the latest answers', async () => {
    const client = await company('in-line');
    const vins = newVins(241);
    const last = vins.at(-1) ?? '';
    await addVehicles(client, vins);
    await setDue(vins, `- interval '30 seconds'`);
    await setDue([last], `- interval '20 seconds'`);
    // Without answers the rate is unknown.
    expect(await retryAfter(client, last)).toBe(60);
    expect(await retryAfter(client, vins[0] ?? '')).toBe(1);
    // 50 answers in 20 seconds are 2.5 per second; those of another company do not count.
    await answered('in-line', 50, 19);
    await answered('another', 500, 1);
    expect(await retryAfter(client, last)).toBe(96);
    // The latest 100 answers came within a second.
    await answered('in-line', 500, 1);
    expect(await retryAfter(client, last)).toBe(3);
  });

  test('is a second for a vehicle whose call is under way, and never less', async () => {
    const client = await company('claimed');
    const { vin } = await addVehicle(client);
    expect(await retryAfter(client, vin)).toBe(1);
    await idle.execute(
      `update vehicle set claimed_by = id, due_at = ${clock} + interval '2 minutes' where vin = '${vin}'`,
    );
    expect(await retryAfter(client, vin)).toBe(1);
  });
});

describe('Prefer: wait', () => {
  test('waits for the answer before answering 409', async () => {
    const { id, vin } = await addVehicle(patient);
    const waiting = eligibilityOf(vin, wait(20), patient);
    await idle.execute(`update vehicle set status = 'ELIGIBLE', verified_at = now() where id = '${id}'`);
    idle.services.changes.announceAnswers('acme', [{ id, vin }]);
    const { status, headers } = await waiting;
    expect({ status, applied: headers.get('preference-applied') }).toEqual({ status: 200, applied: 'wait=20' });
  });

  test('answers 409 after the time', async () => {
    const { vin } = await addVehicle(patient);
    const from = Date.now();
    expect(await eligibilityOf(vin, wait(1), patient)).toMatchObject({ status: 409 });
    expect(Date.now()).toBeGreaterThanOrEqual(from + 990);
  });

  test('known outcomes are answered at once', async () => {
    const { vin } = await addVehicle(patient, newVin(0, 'ZFF'));
    // The wait is longer than the time-out of a test.
    expect(await eligibilityOf(vin, wait(30), patient)).toMatchObject({ status: 400 });
    expect(await eligibilityOf(newVin(), wait(30), patient)).toMatchObject({ status: 404 });
  });

  test.each([
    ['wait=100', '30'],
    ['respond-async, wait=3', '3'],
    ['WAIT = "4"', '4'],
    ['wait=0', '0'],
    ['return=minimal', null],
    ['wait=soon', null],
    ['await=5', null],
  ])('%s applies wait=%s', async (prefer, applied) => {
    const { vin } = await addVehicle(patient);
    await idle.execute(`update vehicle set status = 'INELIGIBLE', verified_at = now() where vin = '${vin}'`);
    const { headers } = await eligibilityOf(vin, { prefer }, patient);
    expect(headers.get('preference-applied')).toBe(applied && `wait=${applied}`);
  });

  test('a client that disconnects leaves no listener behind', async () => {
    const { vin } = await addVehicle(patient);
    const changes = idle.services.changes;
    const before = changes.listenerCount('eligibility');
    const gone = new AbortController();
    const waiting = fetch(new URL(`/vehicles/eligibility/${vin}`, idle.url), {
      headers: { ...patient.headers, ...wait(30) },
      signal: gone.signal,
    });
    await expect.poll(() => changes.listenerCount('eligibility'), { interval: 5 }).toBe(before + 1);
    gone.abort();
    await expect(waiting).rejects.toThrow();
    await expect.poll(() => changes.listenerCount('eligibility'), { interval: 5 }).toBe(before);
  });
});

describe('POST /vehicles/eligibility/{vin}/refresh', () => {
  test('answers 202 and asks again', async () => {
    const { vin } = await addVehicle(acme, newVin(1));
    const { body: first } = await verified(vin);
    const { status, body } = await acme.post(`/vehicles/eligibility/${vin}/refresh`);
    expect({ status, body }).toMatchObject({ status: 202, body: { vin, status: 'ELIGIBLE', eligible: true } });
    await expect
      .poll(async () => (await eligibilityOf(vin)).body.verifiedAt, { interval: 20 })
      .not.toBe(first.verifiedAt);
  });

  test('a vehicle that is due keeps its place', async () => {
    const { vin } = await addVehicle(patient, newVin(1));
    const query = { query: `{ eligibility(vin: "${vin}") { nextAttemptAt } }` };
    const dueOf = async () => (await patient.post('/graphql', query)).body.data.eligibility.nextAttemptAt;
    const due = await dueOf();
    expect(due).toEqual(time);
    await patient.post(`/vehicles/eligibility/${vin}/refresh`);
    expect(await dueOf()).toBe(due);
  });

  test('a vehicle without a provider has no answer, and was never asked about', async () => {
    const { vin } = await addVehicle(acme, newVin(0, 'ZFF'));
    expect((await acme.post(`/vehicles/eligibility/${vin}/refresh`)).status).toBe(202);
    const rechecked = `select from vehicle where vin = '${vin}' and claimed_by is null and due_at > now() + interval '1 day'`;
    await until(async () => (await gateway.execute(rechecked)).length > 0);
    const query = `{ eligibility(vin: "${vin}") { status attempts verifiedAt } }`;
    const { body } = await acme.post('/graphql', { query });
    expect(body.data.eligibility).toEqual({ status: 'UNSUPPORTED', attempts: 0, verifiedAt: null });
  });

  test('an unknown or malformed VIN is 404', async () => {
    const { vin } = await addVehicle(await gateway.as('globex'), newVin(1));
    for (const none of [vin, newVin(), 'nonsense']) {
      expect(await acme.post(`/vehicles/eligibility/${none}/refresh`)).toMatchObject({
        status: 404,
        body: { code: 'VEHICLE_NOT_FOUND' },
      });
    }
  });
});

test('waits of one company leave places for those of others', async () => {
  const [loud, quiet] = [await few.as('loud'), await few.as('quiet')];
  const vin = newVin();
  for (const client of [loud, quiet]) await addVehicle(client, vin);
  // A quarter is reserved for companies without a place.
  const waiting = Array.from({ length: 18 }, () => eligibilityOf(vin, wait(3), loud));
  await until(() => few.services.followers.count === 18);
  expect(await eligibilityOf(vin, wait(3), loud)).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  expect(await eligibilityOf(vin, {}, loud)).toMatchObject({ status: 409 });
  const others = eligibilityOf(vin, wait(1), quiet);
  await until(() => few.services.followers.count === 19);
  for (const { status } of await Promise.all([...waiting, others])) expect(status).toBe(409);
  expect(few.services.followers.count).toBe(0);
});
