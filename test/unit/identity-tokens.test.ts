import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type Authenticator, openAuthenticator } from '../../src/http/identity/caller.ts';
import { type Issuer, makeKey, signToken, signWithSecret, startIssuer } from '../support/identity-provider.ts';

const algorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'];
let issuer: Issuer;
/** The issuer in forged headers; no request may reach it. */
let trap: Issuer;
let authenticator: Authenticator;

beforeAll(async () => {
  issuer = await startIssuer({ algs: [...algorithms, 'RS512'] });
  trap = await startIssuer();
});

afterAll(async () => {
  await issuer.stop();
  await trap.stop();
});

beforeEach(async () => {
  authenticator = await openAuthenticator(readConfig({ AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience }));
});

afterEach(() => {
  expect(trap.jwksFetches + trap.discoveryFetches).toBe(0);
});

const read = (token: string) => authenticator.authenticate(`Bearer ${token}`);
const seconds = (fromNow: number) => Math.floor(Date.now() / 1000) + fromNow;
/** The claims of a valid token, for signing in a wrong way. */
const claims = () => decode(issuer.sign(), 1);
const header = () => decode(issuer.sign(), 0);
const decode = (token: string, part: 0 | 1): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[part] ?? '', 'base64url').toString());

async function refused(token: string, message: string | RegExp = /./): Promise<void> {
  await expect(read(token)).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    reason: 'invalid_token',
    message: expect.stringMatching(message),
  });
}

function keyFor(alg: string) {
  const key = issuer.keys.find((candidate) => candidate.alg === alg);
  if (!key) throw new Error(`no key for ${alg}`);
  return key;
}

describe('Tokens: accepted tokens', () => {
  test.each(algorithms)('signed with %s', async (alg) => {
    expect((await read(issuer.sign({}, { alg })))?.company).toBe('acme');
  });

  test.each([undefined, 'JWT', 'jwt', 'at+jwt', 'application/at+jwt'])('type %s', async (typ) => {
    expect((await read(issuer.sign({}, { header: { typ } })))?.company).toBe('acme');
  });

  test.each(['Bearer', 'bearer', 'BEARER'])('the scheme written as %s', async (scheme) => {
    expect((await authenticator.authenticate(`${scheme} ${issuer.sign()}`))?.company).toBe('acme');
  });

  test('clocks that differ by less than 5 s', async () => {
    await read(issuer.sign({ exp: seconds(-3) }));
    await read(issuer.sign({ nbf: seconds(4) }));
  });

  test('one of several audiences', async () => {
    await read(issuer.sign({ aud: ['https://other.example', issuer.audience] }));
  });

  test('no subject', async () => {
    expect((await read(issuer.sign({ sub: undefined })))?.subject).toBe('');
  });

  test('no key id, though several published keys fit', async () => {
    const published = issuer.keys;
    issuer.keys = [makeKey('ES256'), ...published];
    try {
      const token = signToken(
        claims(),
        { alg: 'ES256' },
        published.find(({ alg }) => alg === 'ES256') ?? keyFor('ES256'),
      );
      expect((await read(token))?.company).toBe('acme');
      await refused(signToken(claims(), { alg: 'ES256' }, makeKey('ES256')), 'signature');
    } finally {
      issuer.keys = published;
    }
  });
});

describe('Tokens: signatures that prove nothing (RFC 8725)', () => {
  test.each(['none', 'None', 'NONE', ''])('algorithm "%s"', async (alg) => {
    const [unsigned] = signToken(claims(), { alg, typ: 'JWT' }, keyFor('ES256')).match(/^.*\./) ?? [''];
    await refused(unsigned);
    await refused(`${unsigned}AA`);
  });

  test('HS256 with the public key as its secret', async () => {
    const { publicKey, kid } = keyFor('RS256');
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const der = publicKey.export({ type: 'spki', format: 'der' });
    for (const secret of [pem, der]) await refused(signWithSecret(claims(), { alg: 'HS256', kid }, secret), 'RS256');
  });

  test('an algorithm that is not on the list, rightly signed', async () => {
    await refused(issuer.sign({}, { alg: 'RS512' }), 'must be signed with one of');
  });

  test('one algorithm with the key of another', async () => {
    await refused(signToken(claims(), { alg: 'RS256', kid: keyFor('PS256').kid }, keyFor('PS256')));
    await refused(signToken(claims(), { alg: 'ES256', kid: keyFor('ES384').kid }, keyFor('ES384')));
  });

  test('a stranger under a known key id', async () => {
    await refused(signToken(claims(), header(), makeKey('ES256')), 'signature');
  });

  test('claims changed after signing, and a signature cut off', async () => {
    const [head, , signature] = issuer.sign().split('.');
    const changed = Buffer.from(JSON.stringify({ ...claims(), company: 'globex' })).toString('base64url');
    await refused(`${head}.${changed}.${signature}`, 'signature');
    await refused(issuer.sign().slice(0, -4), 'signature');
  });

  test('a padded signature', async () => {
    await refused(`${issuer.sign()}==`, 'not a signed JWT');
    await refused(`${issuer.sign()}=`, 'not a signed JWT');
  });

  test('an RSA key too short to be trusted, though published', async () => {
    const weak = { kid: 'weak', alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 1024 }) };
    const published = issuer.keys;
    issuer.keys = [...published, weak];
    try {
      await refused(signToken(claims(), { alg: 'RS256', kid: 'weak' }, weak));
    } finally {
      issuer.keys = published;
    }
  });
});

describe('Tokens: headers that name other keys', () => {
  test.each([
    ['a path', '../../../../dev/null'],
    ['SQL', "x' union select 'key"],
    ['an URL', 'http://127.0.0.1/key'],
    ['an object', { $ne: '' }],
    ['an array', ['a', 'b']],
    ['a number', 1],
    ['a member of every object', '__proto__'],
  ])('key id: %s', async (_, kid) => {
    await refused(signToken(claims(), { alg: 'ES256', kid }, makeKey('ES256')));
  });

  test('jku and x5u are not fetched, jwk and x5c are not used', async () => {
    const stranger = trap.keys[0] ?? makeKey('ES256');
    const jwk = stranger.publicKey.export({ format: 'jwk' });
    const x5c = [stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')];
    for (const lure of [{ jku: trap.jwksUri }, { x5u: trap.jwksUri }, { jwk }, { x5c }]) {
      await refused(signToken(claims(), { alg: 'ES256', kid: stranger.kid, ...lure }, stranger));
      await refused(signToken(claims(), { ...header(), ...lure }, stranger));
    }
  });

  test('critical extensions, unencoded payloads', async () => {
    for (const extension of [
      { crit: ['exp'], exp: seconds(300) },
      { crit: ['b64'], b64: true },
      { crit: ['b64'], b64: false },
      { crit: [] },
      { b64: false },
    ]) {
      await refused(issuer.sign({}, { header: extension }));
    }
  });

  test.each(['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'application/secevent+jwt', '', 5, ['JWT'], null])(
    'type %j',
    async (typ) => {
      await refused(issuer.sign({}, { header: { typ } }), 'another type');
    },
  );
});

describe('Tokens: invalid claims', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['another issuer', { iss: 'https://evil.example' }, 'another issuer'],
    ['the issuer with a slash more', { iss: 'SLASH' }, 'another issuer'],
    ['the issuer in a list', { iss: ['LIST'] }, 'another issuer'],
    ['no issuer', { iss: undefined }, 'another issuer'],
    ['another audience', { aud: 'https://other.example' }, 'another audience'],
    ['an audience that only begins right', { aud: 'https://fleets.example.evil' }, 'another audience'],
    ['no audience', { aud: undefined }, 'another audience'],
    ['expired', { exp: seconds(-6) }, 'expired'],
    ['no expiry', { exp: undefined }, 'expires'],
    ['an expiry in words', { exp: 'tomorrow' }, 'expires'],
    ['not valid yet', { nbf: seconds(30) }, 'not valid yet'],
  ])('%s', async (_, changes, message) => {
    const iss = { SLASH: `${issuer.issuer}/`, LIST: [issuer.issuer] }[String(changes.iss)];
    await refused(issuer.sign({ ...changes, ...(iss && { iss }) }), message);
  });

  test('claims that are no object', async () => {
    for (const nonsense of [[], 'acme', 5, null]) await refused(signToken(nonsense, header(), keyFor('ES256')));
  });
});

describe('Tokens: the company', () => {
  test.each([
    undefined,
    null,
    '',
    '   ',
    ' acme',
    'acme\n',
    'ac\u0000me',
    '\ud800',
    'x'.repeat(256),
    ['acme'],
    { name: 'acme' },
    5,
    true,
  ])('%j is none: forbidden', async (company) => {
    await expect(read(issuer.sign({ company }))).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining('company'),
    });
  });

  test.each(['x'.repeat(255), 'Ünïcode GmbH', '株式会社', "O'Neill & Sons", '__proto__'])(
    '%j is one',
    async (company) => {
      expect((await read(issuer.sign({ company })))?.company).toBe(company);
    },
  );

  test.each(['constructor', '__proto__', 'toString'])(
    'a claim called %s is not found on every object',
    async (claim) => {
      const config = readConfig({ AUTH_ISSUER: issuer.issuer, AUTH_COMPANY_CLAIM: claim });
      const { authenticate } = await openAuthenticator(config);
      await expect(authenticate(`Bearer ${issuer.sign()}`)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    },
  );
});

describe('Authorization header', () => {
  test('a missing header means no caller, without an error', async () => {
    expect(await authenticator.authenticate(undefined)).toBeNull();
  });

  test.each(['Bearer', 'Bearer ', 'Bearer x', 'Bearer a.b', 'Bearer a.b.c.d', 'Bearer ..', 'bearer a b.c.d'])(
    '"%s" is an invalid token',
    async (value) => {
      await expect(authenticator.authenticate(value)).rejects.toMatchObject({
        code: 'UNAUTHENTICATED',
        reason: 'invalid_token',
      });
    },
  );

  test.each(['', 'Basic YTpi', 'Token abc', 'Bearertoken'])('"%s" counts as a missing token', async (value) => {
    await expect(authenticator.authenticate(value)).rejects.toMatchObject({ code: 'UNAUTHENTICATED', reason: null });
  });

  test('five parts (an encrypted token) are refused', async () => {
    await refused(`${issuer.sign()}.AA.AA`);
  });
});
