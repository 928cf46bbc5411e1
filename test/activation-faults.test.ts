import { afterEach, describe, expect, inject, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { DAY, HOUR, MINUTE, startActivations, stateOf } from './support/activations.ts';
import type { Json } from './support/client.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { addVehicles, newVins } from './support/factories.ts';
import { hasDocuments, unlessMissing } from './support/published.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { type Behaviour, carriedOut, json, type UpstreamServer } from './support/upstream.ts';

// Contracts of vehicles at High Mobility and Mercedes-Benz, while one of them, or the database, is away.

/** Many enough for two looks (200 vehicles each). */
const MANY = 210;
const own = await databaseEnv();
const proxy = own.DATABASE_URL ? await TcpProxy.start(own.DATABASE_URL) : null;
const env = { ...own, ...(proxy && { DATABASE_URL: proxy.through(own.DATABASE_URL as string) }) };
/** A batch. */
const THOUSAND = 1000;
/** A refusal that names nothing, as both would write it. */
const nameless = { type: '/error/validation-error', errors: [{ title: 'invalid' }] };
const errors: unknown[] = [];
const { gateway, upstream, time, work, workFor } = await startActivations({
  packs: { basic: ['1001'] },
  patienceMs: 0,
  on: { env, database: await openDatabase(databaseConfig(env)) },
  onError: (error) => errors.push(error),
});
const acme = await gateway.as('acme');

const makes = [
  ['High Mobility', 'WBA'],
  ['Mercedes-Benz', 'W1K'],
] as const;

/** Contracts of new vehicles, in one call. */
async function contractsOf(count: number, wmi: string, fields: object = {}): Promise<Json[]> {
  const vehicles = await addVehicles(acme, newVins(count, 0, wmi));
  const [{ fleetId }] = vehicles as [Json];
  const terms = { name: 'n', description: 'd', pack: 'basic', from: time(-1000), to: time(30 * DAY), ...fields };
  const { body } = await acme.post('/contracts/bulk', { fleetId, vins: vehicles.map(({ vin }) => vin), ...terms });
  expect(body).toMatchObject({ rejected: [] });
  return body.contracts;
}

const faulty = (behaviour: Behaviour): UpstreamServer['behaves'] => {
  return ({ endpoint }) => (endpoint === 'token' ? null : behaviour);
};
/** How often something was asked but for tokens. */
const questions = () => upstream.received.filter(({ endpoint }) => endpoint !== 'token').length;
const isOn = (vin: string) =>
  ['approved', 'ACTIVE'].includes(upstream.clearanceOf(vin)?.status ?? upstream.serviceOf(vin, '1001')?.status ?? '');

afterEach(async () => {
  upstream.behaves = () => null;
  expect(upstream.count('clearance'), 'one vehicle is never asked about by itself: 60 a minute are allowed').toBe(0);
  if (hasDocuments) expect(upstream.faults).toEqual([]);
  // Daily looks of what is active here are not counted with another test.
  await gateway.execute('update activation set due_at = null');
  upstream.received.length = 0;
});

describe(`Faults while contracts are carried out${unlessMissing}`, () => {
  test.each(makes)('%s is away for a day: nothing is forgotten, and it is not asked all the time', async (_, wmi) => {
    const [ending] = await contractsOf(1, wmi, { to: time(DAY / 2) });
    await workFor(10 * MINUTE, 2 * MINUTE);
    expect(await stateOf(acme, ending)).toEqual(['ACTIVE']);
    const before = questions();
    upstream.behaves = faulty((response) => void response.destroy());
    const beginning = await contractsOf(MANY, wmi);
    await workFor(DAY, 30 * MINUTE);
    expect(await stateOf(acme, ending)).toEqual(['ENDING', 'PROVIDER_UNREACHABLE', 'MANUFACTURER']);
    expect((await stateOf(acme, beginning[0]))[0]).toBe('PENDING');
    expect(isOn(ending?.vin)).toBe(true);
    // Circuits are open: a few probes each half hour.
    expect(questions() - before).toBeLessThan(48 * 10);
    upstream.behaves = () => null;
    await workFor(3 * HOUR, 20 * MINUTE);
    for (const one of beginning) expect([one.vin, isOn(one.vin)]).toEqual([one.vin, true]);
    expect(isOn(ending?.vin)).toBe(false);
    expect(await stateOf(acme, ending)).toEqual(['ENDED']);
    expect(await stateOf(acme, beginning[MANY - 1])).toEqual(['ACTIVE']);
  });

  test.each(makes)('%s answers 429 with Retry-After: nothing is asked before', async (_, wmi) => {
    const contracts = await contractsOf(MANY, wmi);
    upstream.behaves = faulty(json(429, { errors: [] }, { 'retry-after': '600' }));
    await work();
    const before = questions();
    expect(before).toBeLessThan(20);
    await workFor(9 * MINUTE, MINUTE);
    expect(questions()).toBe(before);
    expect(await stateOf(acme, contracts[0])).toEqual(['PENDING', 'PROVIDER_BUSY', 'MANUFACTURER']);
    upstream.behaves = () => null;
    await workFor(HOUR, 10 * MINUTE);
    for (const one of contracts) expect([one.vin, isOn(one.vin)]).toEqual([one.vin, true]);
  });

  test.each(makes)('%s answers 429 without Retry-After: pauses grow to a minute', async (_, wmi) => {
    const contracts = await contractsOf(MANY, wmi);
    upstream.behaves = faulty(json(429, { errors: [] }));
    await workFor(20 * MINUTE, MINUTE);
    // As many as may be under way when a pause begins.
    expect(questions()).toBeLessThan(20 * 20);
    upstream.behaves = () => null;
    await workFor(2 * HOUR, 10 * MINUTE);
    for (const one of contracts) expect([one.vin, isOn(one.vin)]).toEqual([one.vin, true]);
  });

  test.each(makes.flatMap(([name, wmi]) => [401, 403].map((status) => [name, status, wmi] as const)))(
    '%s withdraws the credentials with %s: the operator must act',
    async (_name, status, wmi) => {
      upstream.behaves = faulty(json(status, { errors: [] }));
      const contracts = await contractsOf(MANY, wmi);
      await workFor(HOUR, 5 * MINUTE);
      const [state, code, actor] = await stateOf(acme, contracts[0]);
      expect([state, actor]).toEqual(['PENDING', 'OPERATOR']);
      expect(code).toMatch(/PROVIDER_CREDENTIALS|PROVIDER_UNEXPECTED/);
      expect(questions()).toBeLessThan(12 * 20);
      upstream.behaves = () => null;
      await workFor(2 * HOUR, 10 * MINUTE);
      for (const one of contracts) expect([one.vin, isOn(one.vin)]).toEqual([one.vin, true]);
    },
  );

  test.each([
    ['High Mobility', 'WBA', 'clearances', 422],
    ['Mercedes-Benz', 'W1K', 'vehicles', 400],
  ] as const)(
    '%s refuses a thousand vehicles because of one, and does not say which',
    async (_, wmi, endpoint, status) => {
      const contracts = await contractsOf(THOUSAND, wmi);
      const bad = contracts[617]?.vin;
      upstream.behaves = (asked) =>
        asked.endpoint === endpoint && asked.body.includes(bad) ? json(status, nameless) : null;
      await work();
      expect(upstream.count(endpoint)).toBeLessThan(25);
      await workFor(5 * MINUTE, MINUTE);
      for (const { vin } of contracts) expect([vin, isOn(vin)]).toEqual([vin, vin !== bad]);
      expect(await stateOf(acme, contracts[617])).toEqual(['PENDING', 'PROVIDER_UNEXPECTED', 'OPERATOR']);
      expect(upstream.count(endpoint)).toBeLessThan(40);
      upstream.behaves = () => null;
      await workFor(HOUR, 10 * MINUTE);
      expect(isOn(bad)).toBe(true);
    },
  );

  // Vehicles that wait come due together: one by one, each would be a request.
  test.each([
    ['High Mobility', 'WBA', 'clearances', 422],
    ['Mercedes-Benz', 'W1K', 'vehicles', 400],
  ] as const)(
    '%s refuses a thousand vehicles, and does not say why',
    async (_, wmi, endpoint, status) => {
      const contracts = await contractsOf(THOUSAND, wmi);
      upstream.behaves = (asked) => (asked.endpoint === endpoint ? json(status, nameless) : null);
      await workFor(10 * MINUTE, MINUTE);
      expect(upstream.count(endpoint)).toBeLessThan(10 * 40);
      expect(await stateOf(acme, contracts[0])).toEqual(['PENDING', 'PROVIDER_UNEXPECTED', 'OPERATOR']);
      upstream.behaves = () => null;
      await workFor(HOUR, 10 * MINUTE);
      for (const { vin } of contracts) expect([vin, isOn(vin)]).toEqual([vin, true]);
    },
    4 * MINUTE,
  );

  test.each([
    ['High Mobility', 'WBA', 'clearances', 422],
    ['Mercedes-Benz', 'W1K', 'vehicles', 400],
  ] as const)(
    'what others want does not wait while refused vehicles of %s are narrowed down',
    async (_, wmi, endpoint, status) => {
      const refused = await contractsOf(200, wmi);
      const bad = refused.filter((_, at) => at % 2 === 0).map(({ vin }) => vin);
      upstream.behaves = (asked) =>
        asked.endpoint === endpoint && bad.some((vin) => asked.body.includes(vin)) ? json(status, nameless) : null;
      await work();
      const [good] = await contractsOf(1, wmi);
      await work();
      expect(upstream.received.filter(({ body }) => body.includes(good?.vin))).not.toEqual([]);
    },
  );

  test('High Mobility lists every change of years: clearances are looked at all the same', async () => {
    const contracts = await contractsOf(MANY, 'WBA');
    await work();
    // A contract of each month for four years.
    for (const { vin } of contracts) {
      const changes = upstream.clearanceOf(vin)?.changelog ?? [];
      const [pending] = changes;
      if (pending) changes.unshift(...Array(200).fill(pending));
    }
    await workFor(10 * MINUTE, 2 * MINUTE);
    for (const one of contracts) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
  });

  test('High Mobility refuses half of a batch: the other half stands', async () => {
    const contracts = await contractsOf(10, 'WBA');
    const error = ({ vin }: Json) => ({ vin, status: 'error', description: 'vin should be 17 character(s)' });
    upstream.next('clearances', async (response, received) => {
      const { vehicles } = (await received.carryOut())[1] as Json;
      const half = vehicles.map((one: Json, at: number) => (at % 2 === 0 ? error(one) : one));
      await json(200, { vehicles: half })(response, received);
    });
    await work();
    const states = await Promise.all(contracts.map((one) => stateOf(acme, one)));
    expect(states.filter(([state]) => state === 'PENDING')).toHaveLength(5);
    expect(states.filter(([, code]) => code === 'VIN_REFUSED')).toHaveLength(5);
    expect(questions()).toBe(1);
  });

  test.runIf(inject('database').kind === 'postgresql').each(makes)(
    'the database is away between a question and its note: %s is asked again, once',
    async (_, wmi) => {
      const contracts = await contractsOf(10, wmi);
      const endpoint = wmi === 'WBA' ? 'clearances' : 'services';
      upstream.next(
        endpoint,
        carriedOut(async () => {
          if (proxy) proxy.refuse = true;
          proxy?.cut();
        }),
      );
      await work().catch((error) => errors.push(error));
      expect(errors.splice(0)).not.toEqual([]);
      if (proxy) proxy.refuse = false;
      expect(await stateOf(acme, contracts[0])).toEqual(['PENDING']);
      // The claim ends after six time-outs.
      await workFor(10 * MINUTE, MINUTE);
      for (const one of contracts) expect(await stateOf(acme, one)).toEqual(['ACTIVE']);
      expect(upstream.count(endpoint)).toBe(1);
      expect(errors).toEqual([]);
    },
  );
});
