import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { HighMobility, type HighMobilityOptions } from '../../../src/manufacturers/high-mobility.ts';
import { holdDeadlines, takeTurns } from '../../support/deadlines.ts';
import { hasDocuments } from '../../support/published.ts';
import { until } from '../../support/until.ts';
import {
  type Behaviour,
  eligible,
  halfAnAnswer,
  hangUp,
  json,
  silence,
  stall,
  text,
  UpstreamServer,
} from '../../support/upstream.ts';

const VIN = 'W0LPE6DJ1BG062799';

let upstream: UpstreamServer;
let provider: HighMobility;

function connect(options: Partial<HighMobilityOptions> = {}): HighMobility {
  const { url } = upstream;
  const credentials = { clientId: 'client', clientSecret: 'secret' };
  return new HighMobility({ openPlaces, url, ...credentials, brands: ['opel', 'vauxhall'], ...options });
}

const ask = () => provider.verify(VIN, 'opel');

beforeEach(async () => {
  upstream = await UpstreamServer.start();
  provider = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await provider.close();
  await upstream.close();
  if (hasDocuments) expect(upstream.faults).toEqual([]);
});

describe('High Mobility: the protocol', () => {
  test('the token is requested as JSON, and sent as a bearer token', async () => {
    await ask();
    const [token, question] = upstream.received;
    expect(token).toMatchObject({ method: 'POST', path: '/v1/access_tokens' });
    expect(token?.headers['content-type']).toBe('application/json');
    expect(question).toMatchObject({ method: 'POST', path: '/v1/eligibility' });
    expect(question?.headers.authorization).toMatch(/^Bearer /);
    expect(JSON.parse(question?.body ?? '')).toEqual({ vin: VIN, brand: 'opel' });
  });

  test('eligible is an answer, with its details and the raw answer', async () => {
    upstream.next('eligibility', eligible({ connectivity_status: 'activated', primary_user_assigned: true }));
    expect(await ask()).toMatchObject({
      outcome: 'ANSWERED',
      eligible: true,
      dataDelivery: ['PULL', 'PUSH'],
      connectivityStatus: 'ACTIVATED',
      primaryUserAssigned: true,
      reason: null,
      raw: { eligible: true, data_delivery: ['pull', 'push'] },
    });
  });

  test('optional fields may be missing', async () => {
    expect(await ask()).toMatchObject({ eligible: true, connectivityStatus: null, primaryUserAssigned: null });
  });

  test('a value unknown to us is no fault of the answer', async () => {
    upstream.next(
      'eligibility',
      eligible({ data_delivery: ['push', 'carrier pigeon'], connectivity_status: 'asleep' }),
    );
    expect(await ask()).toMatchObject({ eligible: true, dataDelivery: ['PUSH'], connectivityStatus: 'UNKNOWN' });
  });

  test.each([
    ['no reason is the manufacturer’s', {}, 'NOT_ELIGIBLE', 'MANUFACTURER'],
    ['unknown connectivity too', { connectivity_status: 'unknown' }, 'NOT_ELIGIBLE', 'MANUFACTURER'],
    ['deactivated', { connectivity_status: 'deactivated' }, 'CONNECTIVITY_DEACTIVATED', 'CUSTOMER'],
    ['no primary user', { primary_user_assigned: false }, 'PRIMARY_USER_MISSING', 'CUSTOMER'],
  ])('ineligible always has a reason: %s', async (_name, extra, code, actor) => {
    upstream.next('eligibility', eligible({ eligible: false, data_delivery: [], ...extra }));
    expect(await ask()).toMatchObject({
      outcome: 'ANSWERED',
      eligible: false,
      reason: { code, actor, retryable: true, message: expect.any(String) },
    });
  });

  test.each([
    ['source', [{ title: 'invalid', source: 'brand' }]],
    ['pointer', [{ title: 'invalid', source: '/data/brand' }]],
    ['text', [{ title: 'The brand is invalid' }]],
    ['vin and brand together', [{ title: 'invalid', detail: 'invalid VIN and brand' }]],
  ])('422 naming the brand refuses the brand: by %s', async (_name, errors) => {
    upstream.next('eligibility', json(422, { errors }));
    expect(await ask()).toEqual({ outcome: 'BRAND_REFUSED', raw: { errors } });
  });

  test.each([
    ['source', [{ title: 'invalid', source: 'vin', detail: 'does not fit the brand' }]],
    ['text', [{ title: 'vin should be 17 character(s)' }]],
  ])('422 naming the VIN has failed, and the customer must act: by %s', async (_name, errors) => {
    upstream.next('eligibility', json(422, { errors }));
    const reason = { code: 'VIN_REFUSED', actor: 'CUSTOMER', retryable: false };
    expect(await ask()).toMatchObject({ outcome: 'FAILED', reason, raw: { errors } });
  });

  test.each([
    ['of another field', { errors: [{ title: 'Not today', source: 'application' }] }],
    ['without errors', { message: 'no' }],
    ['without a body', null],
  ])('any other 422 has failed on the manufacturer’s side: %s', async (_name, body) => {
    upstream.next('eligibility', json(422, body));
    expect(await ask()).toMatchObject({ outcome: 'FAILED', reason: { code: 'REFUSED', actor: 'MANUFACTURER' } });
  });

  test('400 naming the VIN by its source is the customer’s, too', async () => {
    upstream.next('eligibility', json(400, { errors: [{ title: 'invalid', source: 'vin' }] }));
    expect(await ask()).toMatchObject({ outcome: 'FAILED', reason: { code: 'VIN_REFUSED', actor: 'CUSTOMER' } });
  });

  test.each([400, 403, 404, 302])(
    'a status the protocol does not know (%i) is the operator’s, and asked again',
    async (status) => {
      upstream.next('eligibility', json(status, { oh: 'no' }));
      expect(await ask()).toMatchObject({
        outcome: 'NO_ANSWER',
        asked: true,
        reason: { code: 'PROVIDER_UNEXPECTED', actor: 'OPERATOR', retryable: true },
        raw: { status, body: { oh: 'no' } },
      });
    },
  );
});

describe('High Mobility: the token', () => {
  test('is shared by a hundred concurrent calls', async () => {
    await Promise.all(Array.from({ length: 100 }, ask));
    expect(upstream.count('token')).toBe(1);
    expect(upstream.count('eligibility')).toBe(100);
  });

  test('is renewed 30 s before it expires, not earlier', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const start = Date.now();
    await ask();
    vi.setSystemTime(start + 269_000);
    await ask();
    expect(upstream.count('token')).toBe(1);
    vi.setSystemTime(start + 271_000);
    await Promise.all([ask(), ask(), ask()]);
    expect(upstream.count('token')).toBe(2);
  });

  test('a token shorter than that margin is used for half its life', async () => {
    upstream.tokenLifetime = 20;
    vi.useFakeTimers({ toFake: ['Date'] });
    await ask();
    await ask();
    expect(upstream.count('token')).toBe(1);
    vi.setSystemTime(Date.now() + 11_000);
    await ask();
    expect(upstream.count('token')).toBe(2);
  });

  test('401 mid-way drops the token and asks once more', async () => {
    await ask();
    upstream.revokeTokens();
    expect(await ask()).toMatchObject({ outcome: 'ANSWERED', eligible: true });
    expect(upstream.count('token')).toBe(2);
  });

  test('401 for many at once renews the token once', async () => {
    await ask();
    upstream.revokeTokens();
    const answers = await Promise.all(Array.from({ length: 10 }, ask));
    expect(answers.every((answer) => answer.outcome === 'ANSWERED')).toBe(true);
    expect(upstream.count('token')).toBe(2);
  });

  test('401 with a fresh token too is the operator’s, and asked again later', async () => {
    upstream.always('eligibility', text(401, 'go away'));
    expect(await ask()).toMatchObject({
      outcome: 'NO_ANSWER',
      reason: { code: 'PROVIDER_CREDENTIALS', actor: 'OPERATOR', retryable: true },
      raw: { status: 401, body: 'go away' },
    });
    expect(upstream.count('eligibility')).toBe(2);
  });

  test('a bad secret is an operator’s fault', async () => {
    await provider.close();
    provider = connect({ clientSecret: 'wrong' });
    const answer = await ask();
    expect(answer).toMatchObject({
      outcome: 'NO_ANSWER',
      reason: { code: 'PROVIDER_CREDENTIALS', actor: 'OPERATOR' },
      raw: { status: 400, body: { error: 'invalid_request' } },
    });
    expect(upstream.count('eligibility')).toBe(0);
    expect(JSON.stringify(answer)).not.toContain('wrong');
  });

  test('a bad secret is not tried a thousand times, and stays an operator’s fault', async () => {
    await provider.close();
    provider = connect({ clientSecret: 'wrong', concurrency: 4 });
    const answers = await Promise.all(Array.from({ length: 1000 }, ask));
    expect(upstream.count('token')).toBeLessThan(10);
    for (const answer of answers) expect(answer).toMatchObject({ reason: { actor: 'OPERATOR' } });
  });

  test('a token answer of another shape is unreadable, and is not kept', async () => {
    upstream.next('token', json(200, { token: 'tell-nobody' }));
    const answer = await ask();
    expect(answer).toMatchObject({ outcome: 'NO_ANSWER', reason: { code: 'PROVIDER_BAD_ANSWER' } });
    expect(JSON.stringify(answer)).not.toContain('tell-nobody');
  });
});

describe('High Mobility: a 422', () => {
  const errors = (...list: unknown[]) => ({ errors: list });
  test.each([
    ['source: vin', errors({ title: 'No', source: 'vin' })],
    ['source: /vin', errors({ title: 'No', source: '/vin' })],
    ['a JSON pointer', errors({ title: 'No', source: { pointer: '/data/attributes/vin' } })],
    ['a parameter', errors({ title: 'No', source: { parameter: 'vin' } })],
    ['vehicle_vin', errors({ title: 'No', source: 'vehicle_vin' })],
    ['vehicleVin', errors({ title: 'No', source: 'vehicleVin' })],
    ['vehicles[0].vin', errors({ title: 'No', source: 'vehicles[0].vin' })],
    ['words', errors({ title: 'Invalid VIN' })],
    ['words beside a source of another kind', errors({ title: 'Invalid VIN', source: 7 })],
    ['another error of another shape', errors('No', { title: 'No', source: 'vin' })],
    ['a source, though the words name the brand', errors({ title: 'Not a VIN of this brand', source: 'vin' })],
  ])('that points at the VIN is the customer’s to mend: %s', async (_name, body) => {
    upstream.next('eligibility', json(422, body));
    expect(await ask()).toMatchObject({
      outcome: 'FAILED',
      reason: { code: 'VIN_REFUSED', actor: 'CUSTOMER', retryable: false },
    });
  });

  test.each([
    ['another field', errors({ source: { pointer: '/province' } })],
    ['nothing', errors()],
    ['no list', { errors: 'vin' }],
    ['no JSON', null],
  ])('that points at %s is the manufacturer’s', async (_name, body) => {
    upstream.next('eligibility', json(422, body));
    expect(await ask()).toMatchObject({ outcome: 'FAILED', reason: { code: 'REFUSED', actor: 'MANUFACTURER' } });
  });

  test('that points at the brand by a JSON pointer refuses the brand', async () => {
    upstream.next('eligibility', json(422, errors({ source: { pointer: '/brand' } })));
    expect(await ask()).toMatchObject({ outcome: 'BRAND_REFUSED' });
  });
});

describe('High Mobility: an answer about another VIN', () => {
  const character = fc.constantFrom(...'ABCDEFGHJKLMNPRSTUVWXYZ0123456789');
  const other = fc.oneof(
    fc.string({ unit: character, minLength: 17, maxLength: 17 }),
    fc.tuple(fc.nat(16), character).map(([at, one]) => VIN.slice(0, at) + one + VIN.slice(at + 1)),
    fc.constantFrom('', ' ', 'ANY', VIN.slice(1), `${VIN}0`, 17, {}, [VIN], true),
  );

  test('counts as no answer: the call is repeated, and the answer is not stored', async () => {
    await fc.assert(
      fc.asyncProperty(other, fc.boolean(), async (vin, yes) => {
        fc.pre(vin !== VIN);
        upstream.next('eligibility', eligible({ vin, eligible: yes, note: 'of-another' }));
        const answer = await ask();
        expect(answer).toMatchObject({
          outcome: 'NO_ANSWER',
          reason: { code: 'PROVIDER_BAD_ANSWER', actor: 'MANUFACTURER', retryable: true },
        });
        expect(JSON.stringify(answer)).not.toContain('of-another');
      }),
      { numRuns: 60 },
    );
  });

  test.each([[VIN], [VIN.toLowerCase()], [` ${VIN} `], [null], [undefined]])(
    'is not one that names %j',
    async (vin) => {
      upstream.next('eligibility', eligible({ vin }));
      expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
    },
  );
});

describe('High Mobility: an unreliable upstream gives no answer, and is asked again', () => {
  test('silence, and an answer that stalls', async () => {
    await ask();
    const deadlines = holdDeadlines();
    for (const [at, behaviour] of [silence, stall].entries()) {
      upstream.next('eligibility', behaviour);
      const answer = ask();
      await until(() => upstream.count('eligibility') === 2 + 2 * at);
      // The beginning of a stalled response arrives within some turns of the event loop.
      await takeTurns();
      deadlines.pass();
      expect(await answer).toMatchObject({
        outcome: 'NO_ANSWER',
        asked: true,
        reason: { code: 'PROVIDER_TIMEOUT', actor: 'MANUFACTURER', retryable: true },
      });
      expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
    }
    expect(new Set(deadlines.given)).toEqual(new Set([30_000]));
  });

  test('an answer after its deadline', async () => {
    await ask();
    const deadlines = holdDeadlines();
    const late: Behaviour = (response, received) => {
      deadlines.pass();
      return eligible()(response, received);
    };
    upstream.next('eligibility', late);
    expect(await ask()).toMatchObject({ asked: true, reason: { code: 'PROVIDER_TIMEOUT' } });
    expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
  });

  test.each([
    ['a closed socket', hangUp, 'PROVIDER_UNREACHABLE'],
    ['half an answer', halfAnAnswer, 'PROVIDER_UNREACHABLE'],
    ['a huge answer', text(200, 'x'.repeat(1_000_000)), 'PROVIDER_BAD_ANSWER'],
    ['500', json(500, { errors: [] }), 'PROVIDER_ERROR'],
    ['502 in HTML', text(502, '<h1>Bad gateway</h1>'), 'PROVIDER_ERROR'],
    ['200 that is not JSON', text(200, '<h1>Hello</h1>'), 'PROVIDER_BAD_ANSWER'],
    ['truncated JSON', text(200, '{"vin":"W0L'), 'PROVIDER_BAD_ANSWER'],
    ['JSON of another shape', json(200, { eligible: 'yes' }), 'PROVIDER_BAD_ANSWER'],
    ['an empty answer', text(200, ''), 'PROVIDER_BAD_ANSWER'],
  ])('%s', async (_name, behaviour, code) => {
    upstream.next('eligibility', behaviour);
    expect(await ask()).toMatchObject({
      outcome: 'NO_ANSWER',
      asked: true,
      reason: { code, actor: 'MANUFACTURER', retryable: true },
    });
    expect(await ask()).toMatchObject({ outcome: 'ANSWERED' });
  });

  test('a refused connection', async () => {
    await upstream.close();
    expect(await ask()).toMatchObject({ reason: { code: 'PROVIDER_UNREACHABLE' }, raw: { fault: 'ECONNREFUSED' } });
    upstream = await UpstreamServer.start();
  });

  test('no failure names the VIN', async () => {
    await ask();
    const deadlines = holdDeadlines();
    const late = () => deadlines.pass();
    for (const behaviour of [late, hangUp, json(500, {}), json(429, {}, { 'retry-after': '0' })]) {
      upstream.next('eligibility', behaviour);
      expect(JSON.stringify(await ask())).not.toContain(VIN);
    }
  });

  test('a call that is under way when the process ends is no failure of the manufacturer', async () => {
    upstream.next('eligibility', silence);
    const answer = ask();
    await until(() => upstream.count('eligibility') === 1);
    await provider.close();
    expect(await answer).toMatchObject({ outcome: 'NO_ANSWER', asked: false, reason: null, retryAfter: 0 });
  });

  test('a clock that is set back does not lengthen a pause', async () => {
    let now = Date.now();
    const own = connect({ clock: () => now });
    upstream.next('eligibility', json(429, {}, { 'retry-after': '600' }));
    await own.verify(VIN, 'opel');
    expect(own.state().pausedUntil).not.toBeNull();
    now -= 3_600_000;
    expect(own.state()).toMatchObject({ pausedUntil: null, holds: [] });
    expect(await own.verify(VIN, 'opel')).toMatchObject({ outcome: 'ANSWERED' });
    await own.close();
  });
});
