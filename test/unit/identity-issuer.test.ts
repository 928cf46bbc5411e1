import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type Authenticator, openAuthenticator, VerifiedTokens } from '../../src/http/identity/caller.ts';
import { type Issuer, makeKey, type SigningKey, signToken, startIssuer } from '../support/identity-provider.ts';

let issuer: Issuer;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  issuer = await startIssuer();
});

afterEach(async () => {
  vi.useRealTimers();
  await issuer.stop();
});

const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const open = (env: NodeJS.ProcessEnv = {}) =>
  openAuthenticator(readConfig({ AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience, ...env }));
const companyOf = async ({ authenticate }: Authenticator, token: string) =>
  (await authenticate(`Bearer ${token}`))?.company;
const unavailable = { code: 'UNAVAILABLE', retryAfter: 2 };
const unauthenticated = { code: 'UNAUTHENTICATED' };
/** A token with an unknown key id. */
const stray = () => signToken({}, { alg: 'ES256', kid: randomUUID() }, strayKey);
const strayKey = makeKey('ES256');
const claims = () => ({ iss: issuer.issuer, aud: issuer.audience, company: 'acme', exp: Date.now() / 1000 + 300 });

describe('Issuer: finding its keys', () => {
  test('concurrent first tokens discover once and read the keys once', async () => {
    const authenticator = await open();
    expect(issuer.discoveryFetches).toBe(0);
    const tokens = Array.from({ length: 20 }, (_, sub) => issuer.sign({ sub: `user-${sub}` }));
    await Promise.all(tokens.map((token) => companyOf(authenticator, token)));
    expect([issuer.discoveryFetches, issuer.jwksFetches]).toEqual([1, 1]);
  });

  test('AUTH_JWKS_URI makes discovery unnecessary', async () => {
    expect(await companyOf(await open({ AUTH_JWKS_URI: issuer.jwksUri }), issuer.sign())).toBe('acme');
    expect(issuer.discoveryFetches).toBe(0);
  });

  test('an issuer written with a slash at its end is discovered, and must call itself so', async () => {
    const iss = `${issuer.issuer}/`;
    const authenticator = await open({ AUTH_ISSUER: iss });
    await expect(companyOf(authenticator, issuer.sign({ iss }))).rejects.toMatchObject(unavailable);
    issuer.misbehave({ body: JSON.stringify({ issuer: iss, jwks_uri: `${issuer.issuer}/keys` }) });
    pass(2);
    await expect(companyOf(authenticator, issuer.sign({ iss }))).rejects.toMatchObject(unavailable);
    expect(issuer.jwksFetches).toBe(1);
  });

  test('keys are read again after 10 minutes, so a withdrawn one stops working', async () => {
    const authenticator = await open();
    const token = issuer.sign({ exp: Date.now() / 1000 + 3_600 });
    await companyOf(authenticator, token);
    issuer.rotate();
    pass(599);
    expect(await companyOf(authenticator, token)).toBe('acme');
    pass(61);
    await expect(companyOf(authenticator, token)).rejects.toMatchObject(unauthenticated);
  });
});

describe('Issuer: unknown key ids', () => {
  test('200 tokens with unknown ids cause one reading of the keys per cool-down', async () => {
    const authenticator = await open();
    await companyOf(authenticator, issuer.sign());
    for (const fetches of [2, 3]) {
      const answers = await Promise.allSettled(Array.from({ length: 100 }, () => companyOf(authenticator, stray())));
      for (let count = 0; count < 100; count++) {
        await expect(companyOf(authenticator, stray())).rejects.toMatchObject(unauthenticated);
      }
      expect(answers.every(({ status }) => status === 'rejected')).toBe(true);
      expect(issuer.jwksFetches).toBe(fetches);
      pass(31);
    }
  });

  test('before any known token, they cause one reading', async () => {
    const authenticator = await open();
    for (let count = 0; count < 20; count++) {
      await expect(companyOf(authenticator, stray())).rejects.toMatchObject(unauthenticated);
    }
    expect(issuer.jwksFetches).toBe(1);
  });

  test('a rotation is noticed at once, also by many tokens together', async () => {
    const authenticator = await open();
    await companyOf(authenticator, issuer.sign());
    issuer.rotate();
    const tokens = Array.from({ length: 20 }, (_, sub) => issuer.sign({ sub: `user-${sub}` }));
    const companies = await Promise.all(tokens.map((token) => companyOf(authenticator, token)));
    expect(new Set(companies)).toEqual(new Set(['acme']));
    expect(issuer.jwksFetches).toBe(2);
  });

  test('are answered as unavailable while the issuer is unreachable', async () => {
    const authenticator = await open();
    await companyOf(authenticator, issuer.sign());
    await issuer.stop();
    issuer.rotate();
    const token = issuer.sign();
    await expect(companyOf(authenticator, token)).rejects.toMatchObject(unavailable);
    await issuer.start();
    await expect(companyOf(authenticator, token)).rejects.toMatchObject(unavailable);
    pass(2);
    expect(await companyOf(authenticator, token)).toBe('acme');
  });
});

describe('Issuer: a new key with an old id', () => {
  test('is noticed at once; wrong signatures cause one reading of the keys per cool-down', async () => {
    const authenticator = await open();
    const old = issuer.sign();
    await companyOf(authenticator, old);
    const { kid } = issuer.keys[0] as SigningKey;
    issuer.keys = [{ ...makeKey('ES256'), kid }];
    expect(await companyOf(authenticator, issuer.sign({ sub: 'other' }))).toBe('acme');
    const forged = () => signToken({ ...claims(), jti: randomUUID() }, { alg: 'ES256', kid }, strayKey);
    for (const fetches of [2, 3]) {
      for (let count = 0; count < 20; count++)
        await expect(companyOf(authenticator, forged())).rejects.toMatchObject(unauthenticated);
      expect(issuer.jwksFetches).toBe(fetches);
      pass(31);
    }
    await expect(companyOf(authenticator, old)).rejects.toMatchObject(unauthenticated);
  });

  test('is noticed by every token that is verified while another has the keys read', async () => {
    const authenticator = await open();
    await companyOf(authenticator, issuer.sign());
    const { kid } = issuer.keys[0] as SigningKey;
    issuer.keys = [{ ...makeKey('ES256'), kid }];
    const tokens = Array.from({ length: 400 }, (_, sub) => issuer.sign({ sub: `user-${sub}` }));
    const companies = await Promise.all(
      tokens.map(async (token, place) => {
        // One after the other, so that some are being verified when the keys have just been read.
        for (let turns = 0; turns < place; turns++) await new Promise(setImmediate);
        return companyOf(authenticator, token).catch(String);
      }),
    );
    expect(new Set(companies)).toEqual(new Set(['acme']));
    expect(issuer.jwksFetches).toBe(2);
  });

  test('is not looked for in vain while the issuer is out of reach: the signature is wrong', async () => {
    const authenticator = await open();
    await companyOf(authenticator, issuer.sign());
    await issuer.stop();
    const { kid } = issuer.keys[0] as SigningKey;
    const forged = signToken(claims(), { alg: 'ES256', kid }, strayKey);
    await expect(companyOf(authenticator, forged)).rejects.toMatchObject(unauthenticated);
  });
});

describe('Issuer: out of reach', () => {
  test('at start: unavailable, and accepted once the issuer is reachable', async () => {
    await issuer.stop();
    const authenticator = await open();
    await expect(companyOf(authenticator, issuer.sign())).rejects.toMatchObject(unavailable);
    await issuer.start();
    pass(2);
    expect(await companyOf(authenticator, issuer.sign())).toBe('acme');
  });

  test('later: known keys remain valid at any age', async () => {
    const authenticator = await open();
    const token = issuer.sign({ exp: Date.now() / 1000 + 86_400 });
    await companyOf(authenticator, token);
    issuer.misbehave({ status: 503 });
    pass(3_600);
    for (const seconds of [0, 1, 61, 61]) {
      pass(seconds);
      expect(await companyOf(authenticator, token)).toBe('acme');
    }
    issuer.misbehave(null);
    issuer.rotate();
    await vi.waitFor(async () => {
      pass(61);
      await expect(companyOf(authenticator, token)).rejects.toMatchObject(unauthenticated);
    });
  });

  test.each([
    ['an error', { status: 500 }],
    ['a redirect', { status: 302 }],
    ['a web page', { body: '<html>' }],
    ['other JSON', { body: '{}' }],
    ['keys that are none', { body: '{"keys":[1]}' }],
  ])('an answer that is %s: unavailable', async (_, how) => {
    issuer.misbehave(how);
    const token = issuer.sign();
    await expect(companyOf(await open(), token)).rejects.toMatchObject(unavailable);
    await expect(companyOf(await open({ AUTH_JWKS_URI: issuer.jwksUri }), token)).rejects.toMatchObject(unavailable);
  });

  test('an issuer that hangs is given up after 3 s, once for all waiting tokens', async () => {
    issuer.misbehave({ hangs: true });
    const authenticator = await open();
    const answers = await Promise.allSettled([1, 2, 3].map(() => companyOf(authenticator, issuer.sign())));
    expect(answers).toMatchObject(answers.map(() => ({ status: 'rejected', reason: unavailable })));
    expect(issuer.discoveryFetches).toBe(1);
  });
});

describe('Verified tokens', () => {
  test('expire in memory, too', async () => {
    const authenticator = await open();
    const token = issuer.sign({ exp: Math.floor(Date.now() / 1000) + 30 });
    expect(await companyOf(authenticator, token)).toBe('acme');
    pass(29);
    expect(await companyOf(authenticator, token)).toBe('acme');
    pass(7);
    await expect(companyOf(authenticator, token)).rejects.toMatchObject(unauthenticated);
  });

  test('are forgotten when the keys rotate', async () => {
    const authenticator = await open();
    const old = issuer.sign();
    await companyOf(authenticator, old);
    issuer.rotate();
    expect(await companyOf(authenticator, old)).toBe('acme');
    await companyOf(authenticator, issuer.sign());
    await expect(companyOf(authenticator, old)).rejects.toMatchObject(unauthenticated);
  });

  test('are verified once for concurrent requests, and again after a minute', async () => {
    const tokens = new VerifiedTokens<string>();
    const verify = vi.fn(async () => ({ value: 'acme', expiresAt: Date.now() + 3_600_000 }));
    await Promise.all(Array.from({ length: 50 }, () => tokens.get('token', verify)));
    pass(59);
    expect(await tokens.get('token', verify)).toBe('acme');
    expect(verify).toHaveBeenCalledTimes(1);
    pass(2);
    await tokens.get('token', verify);
    expect(verify).toHaveBeenCalledTimes(2);
  });

  test('are not remembered if refused, or if the keys changed meanwhile', async () => {
    const tokens = new VerifiedTokens<string>();
    const refuse = vi.fn(() => Promise.reject(new Error('no')));
    await expect(tokens.get('token', refuse)).rejects.toThrow('no');
    await expect(tokens.get('token', refuse)).rejects.toThrow('no');
    expect(refuse).toHaveBeenCalledTimes(2);
    const accept = vi.fn(async () => ({ value: 'acme', expiresAt: Date.now() + 3_600_000 }));
    const underWay = tokens.get('token', accept);
    tokens.clear();
    await underWay;
    await tokens.get('token', accept);
    expect(accept).toHaveBeenCalledTimes(2);
  });

  test('are limited: 40,000 usual ones are kept, the least recently used go, oversized ones are not kept', async () => {
    const tokens = new VerifiedTokens<string>();
    const verify = vi.fn(async () => ({ value: 'acme', expiresAt: Date.now() + 3_600_000 }));
    const token = (number: number) => String(number).padStart(700, 'x');
    for (let number = 0; number < 41_000; number++) await tokens.get(token(number), verify);
    await tokens.get(token(0), verify);
    expect(verify).toHaveBeenCalledTimes(41_000);
    for (let number = 41_000; number < 42_000; number++) await tokens.get(token(number), verify);
    await tokens.get(token(0), verify);
    expect(verify).toHaveBeenCalledTimes(42_000);
    await tokens.get(token(1), verify);
    expect(verify).toHaveBeenCalledTimes(42_001);
    await tokens.get(token(41_000), verify);
    expect(verify).toHaveBeenCalledTimes(42_001);
    verify.mockClear();
    const oversized = 'x'.repeat(5_000);
    await tokens.get(oversized, verify);
    await tokens.get(oversized, verify);
    expect(verify).toHaveBeenCalledTimes(2);
  });
});
