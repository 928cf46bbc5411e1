import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPlaces } from '../../../src/fairness/slots.ts';
import { brandIds } from '../../../src/manufacturers/brands.ts';
import { HighMobility } from '../../../src/manufacturers/high-mobility.ts';
import { openSandbox, type Sandbox, sandboxBrands } from '../../../src/manufacturers/sandbox.ts';

let sandbox: Sandbox;
let client: HighMobility;
/** Resolved by tests to send the slow answers. */
let slowly = Promise.withResolvers<void>();

beforeAll(async () => {
  sandbox = await openSandbox(() => slowly.promise);
  client = new HighMobility({ openPlaces, ...sandbox, id: 'sandbox', brands: sandboxBrands, concurrency: 64 });
});

afterAll(async () => {
  await client.close();
  await sandbox.close();
});

const vin = (last: string, serial = '00000') => `WBA8E9C50GK${serial}${last}`;
const ask = (last: string, serial?: string) => client.verify(vin(last, serial), 'bmw');

describe('Sandbox', () => {
  test.each(['0', '1', '2', '3', '4', '5', '6', 'A', 'X'])('a VIN ending in %s is eligible', async (last) => {
    expect(await ask(last)).toMatchObject({
      outcome: 'ANSWERED',
      eligible: true,
      dataDelivery: ['PULL', 'PUSH'],
      connectivityStatus: 'ACTIVATED',
      primaryUserAssigned: true,
    });
  });

  test('7 is ineligible, with a reason', async () => {
    expect(await ask('7')).toMatchObject({ outcome: 'ANSWERED', eligible: false, reason: { code: 'NOT_ELIGIBLE' } });
  });

  test('8 is slow, then eligible', async () => {
    let answered = false;
    const slow = ask('8').finally(() => {
      answered = true;
    });
    await ask('1');
    expect(answered).toBe(false);
    slowly.resolve();
    expect(await slow).toMatchObject({ outcome: 'ANSWERED', eligible: true });
  });

  test('9 fails with 429, then with 503, then is eligible', async () => {
    expect(await ask('9')).toMatchObject({ outcome: 'NO_ANSWER', retryAfter: 0, raw: { status: 429 } });
    expect(await ask('9')).toMatchObject({ outcome: 'NO_ANSWER', retryAfter: 0, raw: { status: 503 } });
    expect(await ask('9')).toMatchObject({ outcome: 'ANSWERED', eligible: true });
  });

  test('many slow and many failing vehicles do not delay others', async () => {
    slowly = Promise.withResolvers();
    const slower = await openSandbox(() => slowly.promise);
    const asking = new HighMobility({ openPlaces, ...slower, id: 'sandbox', brands: sandboxBrands, concurrency: 64 });
    const askMany = (count: number, last: string) =>
      Array.from({ length: count }, (_, at) => asking.verify(vin(last, String(10_000 + at)), 'bmw'));
    let slowAnswers = 0;
    const slow = askMany(40, '8').map((answer) =>
      answer.finally(() => {
        slowAnswers += 1;
      }),
    );
    const failing = askMany(40, '9');
    await Promise.all(askMany(100, '1'));
    expect(slowAnswers).toBe(0);
    slowly.resolve();
    await Promise.all([...slow, ...failing]);
    expect(asking.state()).toMatchObject({ breaker: 'CLOSED', probeAt: null, pausedUntil: null, brands: [] });
    await asking.close();
    await slower.close();
  });

  test('serves every brand of the table but two', async () => {
    expect(brandIds.filter((id) => !sandboxBrands.includes(id))).toEqual(['ferrari', 'porsche']);
    expect(await client.verify(vin('1'), 'ferrari')).toMatchObject({ outcome: 'BRAND_REFUSED' });
  });

  test('follows the protocol: a bad secret is 400, a missing token 401', async () => {
    const post = (path: string, body: string) => fetch(`${sandbox.url}${path}`, { method: 'POST', body });
    expect((await post('/v1/access_tokens', '{"client_id":"sandbox","client_secret":"guess"}')).status).toBe(400);
    expect((await post('/v1/access_tokens', 'not json')).status).toBe(400);
    expect((await post('/v1/eligibility', `{"vin":"${vin('1')}","brand":"bmw"}`)).status).toBe(401);
    expect((await fetch(sandbox.url)).status).toBe(404);
  });

  test('closes at once, even during answers', async () => {
    const asked = Promise.withResolvers<void>();
    const other = await openSandbox((signal) => {
      asked.resolve();
      return once(signal, 'abort');
    });
    const asking = new HighMobility({ openPlaces, ...other, id: 'sandbox', brands: sandboxBrands });
    await asking.verify(vin('1'), 'bmw');
    const slow = asking.verify(vin('8'), 'bmw');
    await asked.promise;
    await other.close();
    expect(await slow).toMatchObject({ outcome: 'NO_ANSWER', reason: { code: 'PROVIDER_UNREACHABLE' } });
    await asking.close();
  });
});
