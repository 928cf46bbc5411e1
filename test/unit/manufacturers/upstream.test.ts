import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { secondsToWait } from '../../../src/manufacturers/exchange.ts';
import { HighMobility, type HighMobilityOptions } from '../../../src/manufacturers/high-mobility.ts';
import { holdDeadlines } from '../../support/deadlines.ts';
import { until } from '../../support/until.ts';
import { eligible, hangUp, json, silence, slow, UpstreamServer } from '../../support/upstream.ts';

const VIN = 'WF0XXXGCDX1234567';

let upstream: UpstreamServer;
let provider: HighMobility;

function connect(options: Partial<HighMobilityOptions> = {}): HighMobility {
  return new HighMobility({
    openPlaces,
    url: upstream.url,
    clientId: 'client',
    clientSecret: 'secret',
    brands: ['ford', 'bmw'],
    probeAfterMs: 100,
    ...options,
  });
}

const ask = (brand = 'ford') => provider.verify(VIN, brand);
const askMany = (times: number) => Promise.all(Array.from({ length: times }, () => ask()));
/** Advances the clock, which is otherwise stopped. */
const passTime = (ms: number) => vi.setSystemTime(Date.now() + ms);

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  upstream = await UpstreamServer.start();
  provider = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await provider.close();
  await upstream.close();
});

describe('Upstream: connections', () => {
  test('are bounded, and so are the calls under way', async () => {
    await provider.close();
    provider = connect({ concurrency: 4 });
    upstream.always('eligibility', slow(10, eligible()));
    await askMany(60);
    expect(upstream.mostAtOnce).toBe(4);
  });

  test('are reused: 200 calls open at most the limit', async () => {
    await provider.close();
    provider = connect({ concurrency: 4 });
    await askMany(100);
    await askMany(100);
    expect(upstream.connections).toBeLessThanOrEqual(4);
  });
});

describe('Upstream: a pause', () => {
  test('429 with Retry-After holds back every call, not one', async () => {
    await ask();
    upstream.next('eligibility', json(429, {}, { 'retry-after': '60' }));
    expect(await ask()).toMatchObject({ reason: { code: 'PROVIDER_BUSY' }, retryAfter: 60, asked: true });
    const asked = upstream.received.length;
    for (const answer of await askMany(50)) {
      expect(answer).toMatchObject({
        outcome: 'NO_ANSWER',
        reason: { code: 'PROVIDER_BUSY' },
        asked: false,
        retryAfter: 60,
      });
    }
    expect(upstream.received.length).toBe(asked);
    expect(provider.state().pausedUntil?.getTime()).toBe(Date.now() + 60_000);
    expect(provider.state().breaker).toBe('CLOSED');
  });

  test('calls wait during a short pause, and are then answered', async () => {
    vi.useRealTimers();
    await ask();
    upstream.next('eligibility', json(429, {}, { 'retry-after': '1' }));
    await ask();
    const { pausedUntil } = provider.state();
    upstream.always('eligibility', (response, received) => {
      expect(Date.now()).toBeGreaterThanOrEqual(pausedUntil?.getTime() ?? Number.POSITIVE_INFINITY);
      return eligible()(response, received);
    });
    for (const answer of await askMany(20)) expect(answer).toMatchObject({ outcome: 'ANSWERED' });
  });

  test('a 429 without a time pauses for a second', async () => {
    upstream.next('eligibility', json(429, {}));
    expect((await ask()) as object).not.toHaveProperty('retryAfter', expect.anything());
    expect(provider.state().pausedUntil?.getTime()).toBe(Date.now() + 1_000);
  });

  test('Retry-After: 0 holds back no call', async () => {
    upstream.next('eligibility', json(429, {}, { 'retry-after': '0' }));
    expect(await ask()).toMatchObject({ reason: { code: 'PROVIDER_BUSY' }, retryAfter: 0 });
    expect(provider.state().pausedUntil).toBeNull();
  });

  test('503 with Retry-After holds back its brand until then, and no other; 0 holds back none', async () => {
    await ask();
    for (let times = 0; times < 10; times++) upstream.next('eligibility', json(503, {}, { 'retry-after': '0' }));
    await askMany(10);
    expect(provider.state()).toMatchObject({ breaker: 'CLOSED', brands: [] });
    upstream.next('eligibility', json(503, {}, { 'retry-after': new Date(Date.now() + 90_000).toUTCString() }));
    expect(await ask('bmw')).toMatchObject({ reason: { code: 'PROVIDER_BUSY' }, asked: true });
    expect(await ask('bmw')).toMatchObject({ reason: { code: 'PROVIDER_BUSY' }, asked: false, retryAfter: 90 });
    expect(await ask('ford')).toMatchObject({ outcome: 'ANSWERED' });
    expect(provider.state()).toMatchObject({ pausedUntil: null, brands: [{ id: 'bmw', breaker: 'OPEN' }] });
    passTime(90_000);
    expect(await ask('bmw')).toMatchObject({ outcome: 'ANSWERED' });
    expect(provider.state().brands).toEqual([]);
  });

  test('503 with Retry-After at the token endpoint holds back every brand until then', async () => {
    upstream.next('token', json(503, {}, { 'retry-after': '90' }));
    expect(await ask('bmw')).toMatchObject({ reason: { code: 'PROVIDER_BUSY' }, asked: true });
    expect(await ask('ford')).toMatchObject({ asked: false, retryAfter: 90 });
  });

  test('429 at the token endpoint pauses as well', async () => {
    upstream.next('token', json(429, {}, { 'retry-after': '30' }));
    expect(await ask()).toMatchObject({ reason: { code: 'PROVIDER_BUSY' }, retryAfter: 30 });
    expect(await ask()).toMatchObject({ asked: false });
  });

  test('Retry-After is read as seconds and as an HTTP date, up to an hour', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(secondsToWait('120', now)).toBe(120);
    expect(secondsToWait('Thu, 01 Jan 2026 00:01:30 GMT', now)).toBe(90);
    expect(secondsToWait('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
    expect(secondsToWait('999999999999', now)).toBe(3600);
    for (const odd of [undefined, '', 'soon', '-5', '1.5', '2026-01-01', 'Nonsense, 99 Foo 2026']) {
      expect(secondsToWait(odd, now)).toBeUndefined();
    }
  });
});

describe('Upstream: the circuit breaker', () => {
  test('a dead upstream costs a few time-outs and then one probe, not a thousand', async () => {
    await provider.close();
    provider = connect({ concurrency: 8, probeAfterMs: 60_000 });
    const deadlines = holdDeadlines();
    upstream.always('eligibility', () => deadlines.pass());
    const answers = await askMany(1000);
    expect(answers.filter((answer) => answer.outcome === 'NO_ANSWER' && answer.asked).length).toBeLessThanOrEqual(16);
    expect(answers.at(-1)).toMatchObject({ asked: false, reason: { code: 'PROVIDER_TIMEOUT' }, retryAfter: 60 });
    expect(provider.state()).toMatchObject({ breaker: 'OPEN', probeAt: expect.any(Date) });
  });

  test('one probe tests the upstream; other calls do not wait for the result', async () => {
    await provider.close();
    provider = connect();
    const deadlines = holdDeadlines();
    upstream.always('eligibility', hangUp);
    for (let times = 0; times < 5; times++) await ask();
    upstream.always('eligibility', silence);
    const asked = upstream.count('eligibility');
    passTime(120);
    const probe = ask();
    await until(() => upstream.count('eligibility') > asked);
    expect(provider.state().breaker).toBe('PROBING');
    for (const answer of await askMany(20)) expect(answer).toMatchObject({ asked: false });
    deadlines.pass();
    expect(await probe).toMatchObject({ asked: true, reason: { code: 'PROVIDER_TIMEOUT' } });
    expect(upstream.count('eligibility')).toBe(asked + 1);
    expect(provider.state().breaker).toBe('OPEN');
  });

  test('closes when the upstream is back', async () => {
    upstream.always('eligibility', hangUp);
    for (let times = 0; times < 5; times++) await ask();
    expect(provider.state().breaker).toBe('OPEN');
    upstream.always('eligibility', undefined);
    passTime(120);
    expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
    expect(provider.state()).toMatchObject({ breaker: 'CLOSED', probeAt: null, pausedUntil: null, brands: [] });
    for (const answer of await askMany(20)) expect(answer.outcome).toBe('ANSWERED');
  });

  test('a dead token endpoint opens it too', async () => {
    await provider.close();
    provider = connect();
    const deadlines = holdDeadlines();
    upstream.always('token', () => deadlines.pass());
    await askMany(50);
    expect(provider.state().breaker).toBe('OPEN');
    expect(upstream.count('token')).toBeLessThan(5);
  });

  test('faults of single vehicles do not open it', async () => {
    upstream.always('eligibility', json(422, { errors: [{ title: 'no', source: 'vin' }] }));
    await askMany(50);
    expect(provider.state().breaker).toBe('CLOSED');
  });
});
