// The manufacturer's errors, limits and silence; `kill -9` of the gateway.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { openPlaces } from '../../src/fairness/slots.ts';
import { highMobilityEligibilityBrands } from '../../src/manufacturers/brands.ts';
import { HighMobility } from '../../src/manufacturers/high-mobility.ts';
import { manufacturersOf } from '../../src/manufacturers/registry.ts';
import type { UpstreamOptions } from '../../src/manufacturers/upstream.ts';
import type { Json } from '../support/client.ts';
import { asAdmin, databaseConfig, databaseEnv } from '../support/database.ts';
import { addVehicle, addVehicles, createFleet, newVin, newVins } from '../support/factories.ts';
import { askingAt, spawnGateway, startGateway, testIssuer } from '../support/gateway.ts';
import { scheduleAll } from '../support/schedule.ts';
import { BUDGET_MS } from '../support/until.ts';
import {
  type Behaviour,
  eligible,
  halfAnAnswer,
  hangUp,
  json,
  silence,
  slow,
  text,
  UpstreamServer,
} from '../support/upstream.ts';

const upstream = await UpstreamServer.start();
afterAll(() => upstream.close());
const issuer = await testIssuer();
const gateway = await startGateway({ workers: true, issuer, settings: { RECHECK_INELIGIBLE_DAYS: '3' } });
const acme = await gateway.as('acme');
const ofProcesses = await databaseEnv();

/** The upstream's behaviours for a VIN, in order; further calls are answered correctly. */
const script = new Map<string, Behaviour[]>();
const vinOf = (body: string): string => JSON.parse(body).vin;
const askedAbout = (vin: string) =>
  upstream.received.filter(({ endpoint, body }) => endpoint === 'eligibility' && vinOf(body) === vin).length;

/** Replaces the provider by one without memory of faults. */
function askAfresh(options: UpstreamOptions = {}) {
  const client = {
    url: upstream.url,
    clientId: 'client',
    clientSecret: 'secret',
    brands: highMobilityEligibilityBrands,
  };
  const provider = new HighMobility({ openPlaces, ...client, timeoutMs: 1_500, breakAfter: 1000, ...options });
  gateway.services.manufacturers = manufacturersOf([provider]);
  afterAll(() => provider.close());
}

beforeEach(async () => {
  for (const table of ['vehicle', 'fleet']) await gateway.execute(`delete from ${table}`);
  upstream.received.length = 0;
  script.clear();
  const scripted: Behaviour = (response, received) => {
    const next = script.get(vinOf(received.body))?.shift() ?? eligible();
    return next(response, received);
  };
  upstream.always('eligibility', scripted);
  upstream.always('token', undefined);
  askAfresh();
});

const eligibilityOf = (vin: string, wait = 0) =>
  acme.get(`/vehicles/eligibility/${vin}`, wait ? { prefer: `wait=${wait}` } : {});
/** The eligibility inside the answer of a pending vehicle. */
const progressOf = async (vin: string) => (await eligibilityOf(vin)).body.eligibility;
const soon = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { interval: 40, timeout: BUDGET_MS });
const secondsUntil = (time: string) => (Date.parse(time) - Date.now()) / 1000;
/** Makes a vehicle due now. */
const comesDue = async (vin: string) => {
  await gateway.execute(`update vehicle set due_at = now(), claimed_by = null where vin = '${vin}'; ${scheduleAll}`);
  gateway.database.notify('due', 'vehicle');
};

describe('temporary faults are retried', () => {
  const faults: [string, Behaviour, string][] = [
    ['500', json(500, {}), 'PROVIDER_ERROR'],
    ['503 with Retry-After', json(503, {}, { 'retry-after': '1' }), 'PROVIDER_BUSY'],
    ['429', json(429, {}, { 'retry-after': '0' }), 'PROVIDER_BUSY'],
    ['a closed socket', hangUp, 'PROVIDER_UNREACHABLE'],
    ['half an answer', halfAnAnswer, 'PROVIDER_UNREACHABLE'],
    ['wrong JSON', json(200, { hello: 'world' }), 'PROVIDER_BAD_ANSWER'],
    ['a web page', text(200, '<html>'), 'PROVIDER_BAD_ANSWER'],
    ['nothing at all', silence, 'PROVIDER_TIMEOUT'],
  ];

  test(`PENDING with its reason, and then answered: ${faults.map(([name]) => name).join(', ')}`, async () => {
    const vins = newVins(faults.length);
    for (const [at, vin] of vins.entries()) script.set(vin, [faults[at]?.[1] ?? silence]);
    const { id } = await createFleet(acme);
    await acme.post('/vehicles', { fleetId: id, vins });
    const reasons = vins.map(() => undefined as string | undefined);
    await Promise.all(
      vins.map((vin, at) =>
        soon(async () => {
          const progress = await progressOf(vin);
          expect(progress).toMatchObject({ status: 'PENDING', attempts: 1, reason: { retryable: true } });
          reasons[at] = progress.reason.code;
        }),
      ),
    );
    expect(reasons).toEqual(faults.map(([, , code]) => code));
    for (const vin of vins) {
      expect(await eligibilityOf(vin, 10)).toMatchObject({
        status: 200,
        body: { status: 'ELIGIBLE', attempts: 2, reason: null },
      });
      expect(askedAbout(vin)).toBe(2);
    }
  });

  test('delays grow: about 1, then 2, then 4 seconds, each announced by nextAttemptAt', async () => {
    const vin = newVin();
    const askedAt: number[] = [];
    const failing: Behaviour = (response, received) => {
      askedAt.push(Date.now());
      return json(500, {})(response, received);
    };
    script.set(vin, [failing, failing, failing]);
    await addVehicle(acme, vin);
    for (const [attempt, seconds] of [1, 2, 4].entries()) {
      const next = await soon(async () => {
        const { attempts, nextAttemptAt } = await progressOf(vin);
        expect({ attempts, nextAttemptAt }).toEqual({ attempts: attempt + 1, nextAttemptAt: expect.any(String) });
        return Date.parse(nextAttemptAt);
      });
      const delay = (next - (askedAt[attempt] ?? 0)) / 1000;
      expect(delay).toBeGreaterThanOrEqual(seconds * 0.75);
      // Storing the answer may take a moment.
      expect(delay).toBeLessThan(seconds * 1.25 + 1);
    }
  });

  test('retries never end, and never wait longer than about a quarter of an hour', async () => {
    const vin = newVin();
    script.set(
      vin,
      Array.from({ length: 10 }, () => json(500, {})),
    );
    await addVehicle(acme, vin);
    await soon(async () => expect(await progressOf(vin)).toMatchObject({ attempts: 1 }));
    await gateway.execute(`update vehicle set faults = 1000 where vin = '${vin}'`);
    await comesDue(vin);
    await soon(async () => {
      const progress = await progressOf(vin);
      expect(progress).toMatchObject({ status: 'PENDING', attempts: 1001, nextAttemptAt: expect.any(String) });
      const left = secondsUntil(progress.nextAttemptAt);
      expect(left).toBeGreaterThan(900 * 0.75 - 10);
      expect(left).toBeLessThan(900 * 1.25);
    });
  });

  test("a bad secret is the operator's to put right, and keeps everyone PENDING", async () => {
    upstream.always('token', json(400, { error: 'invalid_request' }));
    const { vin } = await addVehicle(acme);
    await soon(async () =>
      expect(await progressOf(vin)).toMatchObject({
        status: 'PENDING',
        reason: { code: 'PROVIDER_CREDENTIALS', actor: 'OPERATOR' },
      }),
    );
    upstream.always('token', undefined);
    expect(await eligibilityOf(vin, 10)).toMatchObject({ status: 200 });
  });

  test('Retry-After is respected, and vehicles not asked about meanwhile have no attempt', async () => {
    const [first, second] = [newVin(), newVin()];
    script.set(first, [json(429, {}, { 'retry-after': '40' })]);
    await addVehicle(acme, first);
    await soon(async () => expect(await progressOf(first)).toMatchObject({ attempts: 1 }));
    await addVehicle(acme, second);
    await soon(async () =>
      expect(await progressOf(second)).toMatchObject({
        status: 'PENDING',
        attempts: 0,
        reason: { code: 'PROVIDER_BUSY' },
      }),
    );
    for (const vin of [first, second]) {
      const { headers, body } = await eligibilityOf(vin);
      expect(secondsUntil(body.eligibility.nextAttemptAt)).toBeGreaterThan(30);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(30);
    }
    expect([askedAbout(first), askedAbout(second)]).toEqual([1, 0]);
  });

  test('while the circuit is open, no call is made and no attempt counted', async () => {
    askAfresh({ breakAfter: 1, probeAfterMs: 60_000 });
    const [first, second] = [newVin(), newVin()];
    script.set(first, [hangUp]);
    await addVehicle(acme, first);
    await soon(async () => expect(await progressOf(first)).toMatchObject({ attempts: 1 }));
    await addVehicle(acme, second);
    await soon(async () =>
      expect(await progressOf(second)).toMatchObject({ attempts: 0, reason: { code: 'PROVIDER_UNREACHABLE' } }),
    );
    expect(askedAbout(second)).toBe(0);
  });
});

describe('permanent faults are FAILED at once', () => {
  test.each([
    ['VIN', json(422, { errors: [{ title: 'Invalid VIN', source: 'vin' }] }), 'VIN_REFUSED', 'CUSTOMER'],
    ['question', json(422, { errors: [{ title: 'No' }] }), 'REFUSED', 'MANUFACTURER'],
  ])(
    'a refused %s is 200 with a reason and who must act, and is not tried again',
    async (_name, refusal, code, actor) => {
      const vin = newVin();
      script.set(vin, [refusal]);
      await addVehicle(acme, vin);
      expect(await eligibilityOf(vin, 10)).toMatchObject({
        status: 200,
        body: { status: 'FAILED', eligible: null, attempts: 1, reason: { code, actor, retryable: false } },
      });
    },
  );

  test('a refused brand is UNSUPPORTED: 400', async () => {
    const vin = newVin();
    script.set(vin, [json(422, { errors: [{ source: 'brand' }] })]);
    await addVehicle(acme, vin);
    expect(await eligibilityOf(vin, 10)).toMatchObject({ status: 400, body: { code: 'MANUFACTURER_NOT_SUPPORTED' } });
  });
});

describe('answers age', () => {
  test('ELIGIBLE 30 days, INELIGIBLE 3 as set, FAILED 1, each spread over a tenth more', async () => {
    const [yes, no, failed] = [newVin(), newVin(), newVin()];
    script.set(no, [eligible({ eligible: false })]);
    script.set(failed, [json(422, { errors: [{ source: 'vin' }] })]);
    await addVehicles(acme, [yes, no, failed]);
    for (const [vin, days] of [
      [yes, 30],
      [no, 3],
      [failed, 1],
    ] as const) {
      const { body } = await eligibilityOf(vin, 10);
      const age = secondsUntil(body.nextAttemptAt) / 86_400;
      expect(age).toBeGreaterThan(days * 0.99);
      expect(age).toBeLessThan(days * 1.1);
    }
  });

  test('an old answer comes due by itself, stays visible meanwhile, and gives way to the new one', async () => {
    const { vin } = await addVehicle(acme);
    const { body: old } = await eligibilityOf(vin, 10);
    script.set(vin, [slow(200, eligible({ eligible: false }))]);
    await comesDue(vin);
    await soon(() => expect(askedAbout(vin)).toBe(2));
    expect((await eligibilityOf(vin)).body).toMatchObject({ status: 'ELIGIBLE', verifiedAt: old.verifiedAt });
    await soon(async () =>
      expect((await eligibilityOf(vin)).body).toMatchObject({ status: 'INELIGIBLE', attempts: 1 }),
    );
  });
});

describe('refresh', () => {
  test('the old answer stays visible while the upstream does not answer', async () => {
    const { vin } = await addVehicle(acme);
    const { body: old } = await eligibilityOf(vin, 10);
    script.set(vin, [json(500, {}), slow(150, eligible({ connectivity_status: 'activated' }))]);
    expect((await acme.post(`/vehicles/eligibility/${vin}/refresh`)).status).toBe(202);
    await soon(() => expect(askedAbout(vin)).toBe(3));
    expect(await eligibilityOf(vin)).toMatchObject({ status: 200, body: { ...old, nextAttemptAt: null } });
    await soon(async () =>
      expect((await eligibilityOf(vin)).body).toMatchObject({
        connectivityStatus: 'ACTIVATED',
        attempts: 2,
        reason: null,
      }),
    );
  });

  test('concurrent refreshes cause one call', async () => {
    const { vin } = await addVehicle(acme);
    await eligibilityOf(vin, 10);
    script.set(vin, [slow(200, eligible())]);
    await Promise.all(Array.from({ length: 20 }, () => acme.post(`/vehicles/eligibility/${vin}/refresh`)));
    await soon(() => expect(askedAbout(vin)).toBe(2));
    await soon(async () => expect((await eligibilityOf(vin)).body.nextAttemptAt).not.toBe(null));
    expect(askedAbout(vin)).toBe(2);
  });

  test('a vehicle that waits for its next attempt is asked about at once', async () => {
    const vin = newVin();
    script.set(vin, [json(500, {}), json(500, {}), json(500, {})]);
    await addVehicle(acme, vin);
    await soon(async () => expect(await progressOf(vin)).toMatchObject({ attempts: 1 }));
    await gateway.execute(`update vehicle set due_at = now() + interval '1 hour' where vin = '${vin}'`);
    await acme.post(`/vehicles/eligibility/${vin}/refresh`);
    await soon(async () => expect(await progressOf(vin)).toMatchObject({ attempts: 2 }));
  });
});

test('a vehicle deleted meanwhile is skipped, and the others of its batch are stored', async () => {
  const [gone, stays] = [newVin(), newVin()];
  for (const vin of [gone, stays]) script.set(vin, [slow(200, eligible())]);
  const [vehicle] = await addVehicles(acme, [gone, stays]);
  await soon(() => expect(askedAbout(gone)).toBe(1));
  expect(await acme.delete(`/vehicles/${vehicle.id}`)).toMatchObject({ status: 200 });
  expect(await eligibilityOf(stays, 10)).toMatchObject({ status: 200 });
  expect(await eligibilityOf(gone)).toMatchObject({ status: 404 });
  expect((await acme.get(`/fleets/${vehicle.fleetId}`)).body.vehicleCount).toBe(1);
});

test('a wait for a vehicle that is deleted ends with 404', async () => {
  const vin = newVin();
  script.set(vin, [silence, silence]);
  const vehicle = await addVehicle(acme, vin);
  const waiting = eligibilityOf(vin, 2);
  await acme.delete(`/vehicles/${vehicle.id}`);
  expect(await waiting).toMatchObject({ status: 404, body: { code: 'VEHICLE_NOT_FOUND' } });
});

test('a slow answer delays no other', async () => {
  const late = newVin();
  const others = newVins(50);
  script.set(late, [slow(250, eligible())]);
  await addVehicles(acme, [late, ...others]);
  await Promise.all(others.map(async (vin) => expect(await eligibilityOf(vin, 10)).toMatchObject({ status: 200 })));
  expect(await eligibilityOf(late, 10)).toMatchObject({ status: 200 });
});

test.skipIf(gateway.database.kind === 'embedded')(
  'a database that stands still stops verification for ten more seconds at most',
  async () => {
    const holder = new pg.Client(asAdmin(gateway.env));
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('begin');
    // The table that every look for due vehicles reads.
    await holder.query('lock table worker in access exclusive mode');
    await addVehicles(acme, [newVin()]);
    await setTimeout(2_500);
    await holder.query('rollback');
    const vin = newVin();
    await addVehicles(acme, [vin]);
    expect(await eligibilityOf(vin, 15)).toMatchObject({ status: 200 });
  },
);

describe('processes', () => {
  test('a kill -9 loses no verification: claimed vehicles are asked about when the claims end', async () => {
    const settings = { ...ofProcesses, ...askingAt(upstream) };
    upstream.always('eligibility', silence);
    const killed = await spawnGateway(settings, { issuer });
    const vins = newVins(30);
    await addVehicles(killed.as('acme'), vins);
    await soon(() => expect(upstream.count('eligibility')).toBeGreaterThan(0));
    await killed.stop('SIGKILL');
    upstream.always('eligibility', undefined);

    // Makes the claims end.
    const database = await openDatabase(databaseConfig(ofProcesses));
    const [row] = await database.orm.em
      .fork()
      .execute<{ claimed: number }[]>(
        `with late as (update vehicle set due_at = now() where claimed_by is not null returning 1) select count(*)::int as claimed from late`,
      );
    await database.orm.em.fork().execute(scheduleAll);
    await database.close();
    // All places but the reserved one were in use.
    expect(row?.claimed).toBe(15);

    const next = await spawnGateway(settings, { issuer });
    for (const vin of vins) {
      expect(await next.as('acme').get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=10' })).toMatchObject({
        status: 200,
        body: { status: 'ELIGIBLE' },
      });
    }
    expect(await next.stop()).toBe(0);
  });

  test.runIf(ofProcesses.DATABASE_URL)(
    'two share the work and never ask twice; a third without workers answers waiting requests',
    async () => {
      upstream.always('eligibility', slow(20, eligible()));
      const settings = { ...ofProcesses, ...askingAt(upstream) };
      const [face] = await Promise.all([
        spawnGateway({ ...settings, WORKERS: 'off' }, { issuer }),
        spawnGateway(settings, { issuer }),
        spawnGateway(settings, { issuer }),
      ]);
      const client = face.as('globex');
      const { id } = await createFleet(client);
      const vins = newVins(2_000);
      const waiting = (async () => {
        const last = vins.at(-1) ?? '';
        await soon(async () => expect((await client.get(`/vehicles/eligibility/${last}`)).status).not.toBe(404));
        return client.get(`/vehicles/eligibility/${last}`, { prefer: 'wait=30' });
      })();
      await client.post('/vehicles', { fleetId: id, vins });
      // The process that asked wakes the waiting request long before its 30 s end.
      expect(await waiting).toMatchObject({ status: 200, body: { status: 'ELIGIBLE' } });
      await soon(async () => {
        const { body } = await client.get(`/fleets/${id}/vehicles`);
        expect(body.filter((vehicle: Json) => vehicle.eligibility.status === 'ELIGIBLE')).toHaveLength(2_000);
      });
      const asked = upstream.received.filter(({ endpoint }) => endpoint === 'eligibility');
      expect(asked).toHaveLength(2_000);
      expect(new Set(asked.map(({ body }) => vinOf(body))).size).toBe(2_000);
      // Each process has its own token.
      const shares = Map.groupBy(asked, ({ headers }) => headers.authorization);
      expect([...shares.values()].map(({ length }) => length > 200)).toEqual([true, true]);
    },
  );

  test.runIf(ofProcesses.DATABASE_URL)(
    'eight kills among three processes: each vehicle is asked about once, unless its call was under way',
    async () => {
      upstream.always('eligibility', slow(100, eligible()));
      const settings = { ...ofProcesses, ...askingAt(upstream), PROVIDER_CONCURRENCY: '8' };
      const database = await openDatabase(databaseConfig(ofProcesses));
      const execute = <T extends object>(statement: string) => database.orm.em.fork().execute<T[]>(statement);
      const start = () => spawnGateway(settings, { issuer });
      const running = await Promise.all([start(), start(), start()]);
      const client = (await spawnGateway({ ...settings, WORKERS: 'off' }, { issuer })).as('initech');
      const { id } = await createFleet(client);
      const vins = newVins(6_000);
      await client.post('/vehicles', { fleetId: id, vins });

      const underWay = new Map<string, number>();
      for (let kill = 1; kill <= 8; kill++) {
        const asked = upstream.count('eligibility');
        await soon(() => expect(upstream.count('eligibility')).toBeGreaterThan(asked + 60));
        await running.shift()?.stop('SIGKILL');
        const claimed = await execute<{ vin: string }>('select vin from vehicle where claimed_by is not null');
        for (const { vin } of claimed) if (askedAbout(vin) > 0) underWay.set(vin, (underWay.get(vin) ?? 0) + 1);
        running.push(await start());
      }
      await soon(async () => {
        const [left] = await execute<{ count: number }>(
          `select count(*)::int as count from vehicle where company = 'initech' and status <> 'ELIGIBLE'`,
        );
        expect(left?.count).toBe(0);
      });
      await database.close();
      const wrong = vins.filter((vin) => {
        const most = 1 + (underWay.get(vin) ?? 0);
        return askedAbout(vin) < 1 || askedAbout(vin) > most;
      });
      expect(wrong).toEqual([]);
      // A process makes eight calls at a time, and has answers that it has not stored yet.
      expect(upstream.count('eligibility') - vins.length).toBeLessThan(8 * 40);
    },
  );
});
