import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { highMobilityEligibilityBrands } from '../../../src/manufacturers/brands.ts';
import { HighMobility, type HighMobilityOptions } from '../../../src/manufacturers/high-mobility.ts';
import { manufacturersOf } from '../../../src/manufacturers/registry.ts';
import { eligible, json, text, UpstreamServer } from '../../support/upstream.ts';

const VIN = 'WF0XXXGCDX1234567';

let upstream: UpstreamServer;
let provider: HighMobility;
/** Brands for which the upstream answers 500. */
const broken = new Set<string>();

function connect(options: Partial<HighMobilityOptions> = {}): HighMobility {
  const { url } = upstream;
  const brands = highMobilityEligibilityBrands;
  return new HighMobility({
    openPlaces,
    url,
    clientId: 'client',
    clientSecret: 'secret',
    brands,
    probeAfterMs: 100,
    ...options,
  });
}

const ask = (brand: string) => provider.verify(VIN, brand);
const askOften = async (times: number, ...brands: string[]) => {
  for (let time = 0; time < times; time++) for (const brand of brands) await ask(brand);
};
const askedAbout = (...brands: string[]) =>
  upstream.received.filter(
    ({ endpoint, body }) => endpoint === 'eligibility' && brands.includes(JSON.parse(body).brand),
  ).length;
/** Advances the clock, which is otherwise stopped. */
const passTime = (ms: number) => vi.setSystemTime(Date.now() + ms);

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  broken.clear();
  upstream = await UpstreamServer.start();
  upstream.always('eligibility', (response, received) =>
    (broken.has(JSON.parse(received.body).brand) ? json(500, {}) : eligible())(response, received),
  );
  provider = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await provider.close();
  await upstream.close();
});

describe('a broken brand', () => {
  test('is held back alone: other brands of its provider are asked about as before', async () => {
    broken.add('renault');
    await askOften(40, 'renault', 'bmw');
    expect(askedAbout('renault')).toBeLessThan(12);
    expect(askedAbout('bmw')).toBe(40);
    expect(provider.state()).toMatchObject({
      breaker: 'CLOSED',
      since: null,
      brands: [{ id: 'renault', since: expect.any(Date), reason: { code: 'PROVIDER_ERROR' } }],
    });
  });

  test('is held back alone, for any set of broken brands and any order of vehicles', async () => {
    const brand = fc.constantFrom(...highMobilityEligibilityBrands);
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(brand, { maxLength: 3 }),
        fc.array(brand, { minLength: 60, maxLength: 120 }),
        async (bad, order) => {
          await provider.close();
          provider = connect({ probeAfterMs: 60_000 });
          broken.clear();
          for (const one of bad) broken.add(one);
          upstream.received.length = 0;
          // A working brand is asked about in between, so that the provider is known to answer.
          const well = highMobilityEligibilityBrands.find((one) => !broken.has(one)) ?? '';
          for (const one of order) {
            await ask(well);
            const answer = await ask(one);
            if (!broken.has(one)) expect(answer).toMatchObject({ outcome: 'ANSWERED' });
          }
          for (const one of bad) expect(askedAbout(one)).toBeLessThanOrEqual(5);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('is asked about again soon after it works again', async () => {
    broken.add('renault');
    await askOften(6, 'renault', 'bmw');
    broken.clear();
    passTime(120);
    expect(await ask('renault')).toMatchObject({ outcome: 'ANSWERED' });
    expect(provider.state().brands).toEqual([]);
  });

  test('the vehicle of a failed probe waits longer than vehicles that were not asked about', async () => {
    broken.add('renault');
    await askOften(5, 'renault');
    passTime(120);
    const probe = await ask('renault');
    const other = await ask('renault');
    expect([probe, other]).toMatchObject([{ asked: true }, { asked: false }]);
    const seconds = (answer: object) => ('retryAfter' in answer ? Number(answer.retryAfter) : 0);
    // Vehicles that were not asked about wait up to a quarter longer than `retryAfter`.
    expect(seconds(probe)).toBeGreaterThan(seconds(other) * 1.25);
  });
});

describe('a provider that is wholly down', () => {
  test('is probed with one vehicle per brand, and asked about all vehicles once it works again', async () => {
    const brands = ['renault', 'bmw', 'fiat'];
    for (const brand of brands) broken.add(brand);
    await askOften(5, ...brands);
    const before = askedAbout(...brands);
    passTime(120);
    await askOften(3, ...brands);
    expect(askedAbout(...brands)).toBe(before + brands.length);
    expect(provider.state()).toMatchObject({ breaker: 'OPEN', reason: { code: 'PROVIDER_ERROR' } });
    broken.clear();
    passTime(250);
    for (const brand of brands) expect(await ask(brand)).toMatchObject({ outcome: 'ANSWERED' });
  });

  test.each([
    ['credentials that are refused', () => upstream.always('eligibility', text(401, 'no'))],
    ['a token endpoint that fails', () => upstream.always('token', json(500, {}))],
  ])('%s hold back every brand, though one alone was asked about', async (_name, fails) => {
    fails();
    await askOften(5, 'renault');
    const before = upstream.received.length;
    expect(await ask('bmw')).toMatchObject({ asked: false });
    expect(upstream.received.length).toBe(before);
    expect(provider.state().breaker).toBe('OPEN');
  });

  test('429 holds back every brand, and breaks none', async () => {
    upstream.next('eligibility', json(429, {}, { 'retry-after': '60' }));
    await ask('renault');
    expect(await ask('bmw')).toMatchObject({ asked: false, reason: { code: 'PROVIDER_BUSY' } });
    expect(provider.state()).toMatchObject({ breaker: 'CLOSED', brands: [], holds: [{ brand: null }] });
  });
});

test('holds are known by brand before vehicles are claimed, also for brands asked about as another', async () => {
  await provider.close();
  provider = connect({ brands: ['vauxhall'] });
  const { channels } = manufacturersOf([provider]);
  broken.add('vauxhall');
  await askOften(5, 'vauxhall');
  // Opel's vehicles are asked about as Vauxhall's if Opel has no provider.
  expect(channels.flatMap((channel) => channel.holds())).toMatchObject([{ brands: ['opel', 'vauxhall'] }]);
});
