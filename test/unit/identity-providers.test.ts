import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openAuthenticator } from '../../src/http/identity/caller.ts';
import { type Issuer, makeKey, startIssuer } from '../support/identity-provider.ts';

// Access tokens as the usual providers write them, with the settings of docs/reference.md. oidc-provider makes them, but
// for those of Cognito, which have no audience: oidc-provider makes none of these.

type Claims = Record<string, unknown>;
const scopes = ['fleets:read', 'contracts:read'];
const api = 'https://fleets.example';
const clientId = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

interface Shape {
  settings: NodeJS.ProcessEnv;
  /** Claims that the provider writes; undefined removes one that oidc-provider writes. */
  claims: (issuer: string) => Claims;
  /** Whether the provider's name ends with a slash. */
  slash?: true;
  typ?: string;
}

const shapes: Record<string, Shape> = {
  Auth0: {
    settings: { AUTH_AUDIENCE: api, AUTH_COMPANY_CLAIM: 'org_id' },
    slash: true,
    claims: (issuer) => ({
      aud: [api, `${issuer}userinfo`],
      azp: clientId,
      client_id: undefined,
      sub: 'auth0|64c0ffee',
      scope: 'openid profile',
      permissions: scopes,
      org_id: 'acme',
    }),
    typ: 'JWT',
  },
  'Auth0, with a claim of its own': {
    settings: { AUTH_AUDIENCE: api, AUTH_COMPANY_CLAIM: 'https://fleets.example/company' },
    slash: true,
    claims: () => ({ aud: api, azp: clientId, scope: scopes.join(' '), 'https://fleets.example/company': 'acme' }),
  },
  'Entra, for a person': {
    settings: { AUTH_AUDIENCE: clientId },
    claims: () => ({
      aud: clientId,
      azp: 'f2a1d0c4-0000-4000-8000-1234567890ab',
      azpacr: '0',
      client_id: undefined,
      scope: undefined,
      scp: scopes.join(' '),
      tid: '72f988bf-86f1-41af-91ab-2d7cd011db47',
      ver: '2.0',
      company: 'acme',
    }),
    typ: 'JWT',
  },
  'Entra, for an application': {
    settings: { AUTH_AUDIENCE: `api://${clientId},${clientId}`, AUTH_COMPANY_CLAIM: 'extn.company' },
    claims: () => ({
      aud: `api://${clientId}`,
      appid: clientId,
      client_id: undefined,
      scope: undefined,
      idtyp: 'app',
      roles: scopes,
      ver: '1.0',
      'extn.company': 'acme',
    }),
    typ: 'JWT',
  },
  Keycloak: {
    settings: { AUTH_AUDIENCE: 'fleet-gateway', AUTH_COMPANY_CLAIM: 'organization.id' },
    claims: () => ({
      aud: ['fleet-gateway', 'account'],
      azp: 'console',
      client_id: undefined,
      typ: 'Bearer',
      scope: `openid email ${scopes.join(' ')}`,
      realm_access: { roles: ['offline_access'] },
      organization: { id: 'acme', name: ['ACME'] },
    }),
    typ: 'JWT',
  },
  Okta: {
    settings: { AUTH_AUDIENCE: 'api://default' },
    claims: () => ({
      aud: 'api://default',
      ver: 1,
      cid: clientId,
      client_id: undefined,
      scope: undefined,
      scp: scopes,
      company: 'acme',
    }),
  },
};

const cognito = {
  settings: { AUTH_CLIENT_IDS: `7a8b9c,${clientId}` },
  claims: {
    aud: undefined,
    client_id: clientId,
    token_use: 'access',
    version: 2,
    scope: scopes.join(' '),
    'cognito:groups': ['eu-central-1_pool'],
    username: 'driver',
  },
};

let origin: string;
let answer: RequestListener;
const server = createServer((request, response) => answer(request, response));

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** Makes oidc-provider write tokens of this shape; gives its name. */
function provide({ claims, slash, typ }: Shape): string {
  const issuer = slash ? `${origin}/` : origin;
  const { kid, privateKey } = makeKey('RS256');
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' }] },
    clients: [
      {
        client_id: 'acme',
        client_secret: 'secret',
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
    formats: {
      customizers: {
        jwt: (_context: unknown, _token: unknown, jwt: { header?: Claims; payload: Claims }) => {
          jwt.payload = { ...jwt.payload, ...claims(issuer) };
          if (typ) jwt.header = { typ };
        },
      },
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => api,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: '',
          audience: api,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  answer = provider.callback();
  return issuer;
}

async function tokenOf(): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const headers = { authorization: `Basic ${btoa('acme:secret')}` };
  const response = await fetch(`${origin}/token`, { method: 'POST', headers, body });
  const { access_token, ...rest } = (await response.json()) as { access_token: string };
  expect(response.status, JSON.stringify(rest)).toBe(200);
  return `Bearer ${access_token}`;
}

const expected = { company: 'acme', scopes: new Set(scopes) };
const open = (settings: NodeJS.ProcessEnv) => openAuthenticator(readConfig({ AUTH_SCOPES: 'on', ...settings }));

describe.each(Object.entries(shapes))('%s', (_, shape) => {
  test('its access token is accepted, with company and scopes', async () => {
    const AUTH_ISSUER = provide(shape);
    const { authenticate, checkIssuer, warnings } = await open({ AUTH_ISSUER, ...shape.settings });
    expect(await checkIssuer?.(expect.unreachable)).toBeNull();
    expect(warnings).toEqual([]);
    const caller = await authenticate(await tokenOf());
    expect(caller?.company).toBe('acme');
    expect([...(caller?.scopes ?? [])]).toEqual(expect.arrayContaining(scopes));
  });

  test('another audience is refused', async () => {
    const AUTH_ISSUER = provide({
      ...shape,
      claims: (issuer) => ({ ...shape.claims(issuer), aud: 'https://other.example' }),
    });
    const { authenticate } = await open({ AUTH_ISSUER, ...shape.settings, AUTH_CLIENT_IDS: clientId });
    await expect(authenticate(await tokenOf())).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('the name of the provider with a slash more, or less, is found at the start', async () => {
    const own = provide(shape);
    const wrong = shape.slash ? own.slice(0, -1) : `${own}/`;
    const { checkIssuer } = await open({ AUTH_ISSUER: wrong, ...shape.settings });
    const told: string[] = [];
    expect(await checkIssuer?.((message) => told.push(message))).toBe(
      `AUTH_ISSUER is "${wrong}", but the issuer there calls itself "${own}", as its tokens do.`,
    );
    expect(told).toEqual([]);
  });
});

describe('claims as a test issuer signs them', () => {
  let issuer: Issuer;
  beforeAll(async () => {
    issuer = await startIssuer();
  });
  afterAll(() => issuer.stop());

  const read = async (claims: Claims, settings: NodeJS.ProcessEnv = {}) => {
    const { authenticate } = await open({ AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: issuer.audience, ...settings });
    return authenticate(`Bearer ${issuer.sign(claims)}`);
  };
  const refused = { code: 'UNAUTHENTICATED', message: 'The token is meant for another audience.' };

  describe('Cognito', () => {
    const settings = { AUTH_AUDIENCE: '', ...cognito.settings };
    test('an access token counts by its client', async () => {
      expect(await read(cognito.claims, settings)).toMatchObject(expected);
      expect(await read(cognito.claims, { ...settings, AUTH_AUDIENCE: issuer.audience })).toMatchObject(expected);
      const { warnings } = await open({ AUTH_ISSUER: issuer.issuer, ...settings });
      expect(warnings).toEqual([]);
    });

    test.each<[string, Claims]>([
      ['another client', { client_id: 'stranger' }],
      ['no client', { client_id: undefined }],
      ['an empty client', { client_id: '' }],
      ['a list of clients', { client_id: [clientId] }],
      ['an object', { client_id: { [clientId]: clientId } }],
      ['an id token, whose audience is the client', { aud: clientId, token_use: 'id' }],
      ['a wrong audience', { aud: 'https://other.example' }],
      ['an audience that is null', { aud: null }],
      ['an empty audience', { aud: '' }],
      ['no audience of a list', { aud: [] }],
    ])('%s is refused', async (_, claims) => {
      await expect(read({ ...cognito.claims, ...claims }, settings)).rejects.toMatchObject(refused);
    });

    test('without AUTH_CLIENT_IDS a token needs an audience', async () => {
      await expect(read(cognito.claims)).rejects.toMatchObject(refused);
    });

    test('the client may be in azp', async () => {
      const claims = { aud: undefined, azp: clientId, scope: scopes.join(' ') };
      expect(await read(claims, settings)).toMatchObject(expected);
    });
  });

  describe('several audiences', () => {
    const settings = { AUTH_AUDIENCE: 'https://one.example, two ,' };
    test.each(['https://one.example', 'two', ['three', 'two']])('%j is one of them', async (aud) => {
      expect((await read({ aud }, settings))?.company).toBe('acme');
    });
    test.each([
      'https://one.example, two',
      'one',
      'https://one.example,two',
      ' two',
      '',
      [],
      [['two']],
      { two: 'two' },
      undefined,
    ])('%j is none of them', async (aud) => {
      await expect(read({ aud }, settings)).rejects.toMatchObject(refused);
    });
  });

  describe('scopes', () => {
    test.each<[string, Claims, string[]]>([
      ['scope as a text', { scope: 'fleets:read  contracts:read ' }, scopes],
      ['scope as a list', { scope: scopes }, scopes],
      ['scp as a text', { scp: scopes.join(' ') }, scopes],
      ['scp as a list', { scp: scopes }, scopes],
      ['permissions', { permissions: scopes }, scopes],
      ['roles', { roles: scopes }, scopes],
      ['scope and scp', { scope: 'fleets:read openid', scp: ['contracts:read'] }, scopes],
      ['permissions and roles', { permissions: ['fleets:read'], roles: ['contracts:read', 'admin'] }, scopes],
      ['permissions that the user did not grant', { scope: 'fleets:read', permissions: scopes }, ['fleets:read']],
      ['roles that the user did not grant', { scp: 'fleets:read', roles: ['contracts:read'] }, []],
      [
        'scopes that permissions lack',
        { scope: scopes.join(' '), permissions: ['contracts:read'] },
        ['contracts:read'],
      ],
      ['scopes that roles have', { scp: scopes, permissions: ['fleets:read'], roles: ['contracts:read'] }, scopes],
      ['a scope that names none of ours', { scope: 'openid profile', permissions: scopes }, scopes],
      ['roles that name none of ours', { scp: scopes.join(' '), roles: ['offline_access'], permissions: [] }, scopes],
      ['permissions and roles that are texts', { permissions: 'fleets:read', roles: 'fleets:read' }, []],
      [
        'what is no text',
        { scope: ['', null, 7, ['fleets:read'], { toString: 'x' }], scp: { 0: 'fleets:read' }, roles: null },
        [],
      ],
      ['an item with a space is one name, which is none of ours', { roles: ['fleets:read fleets:write'] }, []],
      ['none', {}, []],
    ])('%s', async (_, claims, expected) => {
      expect([...((await read(claims))?.scopes ?? [])].toSorted()).toEqual(expected.toSorted());
    });
  });

  describe('the company at a path', () => {
    const at = (AUTH_COMPANY_CLAIM: string, claims: Claims) =>
      read({ company: undefined, ...claims }, { AUTH_COMPANY_CLAIM }).then((caller) => caller?.company);

    test('leads through objects', async () => {
      expect(await at('organization.id', { organization: { id: 'acme' } })).toBe('acme');
      expect(await at('a.b.c', { a: { b: { c: 'acme' } } })).toBe('acme');
    });

    test('a claim of that very name comes first, even if it names no company', async () => {
      expect(await at('organization.id', { 'organization.id': 'acme', organization: { id: 'globex' } })).toBe('acme');
      expect(await at('https://a.example/company', { 'https://a.example/company': 'acme' })).toBe('acme');
      const forbidden = at('organization.id', { 'organization.id': '', organization: { id: 'globex' } });
      await expect(forbidden).rejects.toMatchObject({ code: 'FORBIDDEN' });
    });

    test.each<[string, Claims]>([
      ['organization.id', { organization: 'acme' }],
      ['organization.id', { organization: null }],
      ['organization.id', { organization: ['acme'] }],
      ['organization.id', { organization: { id: ['acme'] } }],
      ['organization.id', { organization: { id: { name: 'acme' } } }],
      ['organization.id', { organization: { id: '' } }],
      ['organization.id', { organization: { id: ' acme' } }],
      ['organization.id', { organization: [{ id: 'acme' }] }],
      ['organization.0', { organization: ['acme'] }],
      ['organization.length', { organization: 'acme' }],
      ['organization', { organization: { id: 'acme' } }],
      ['organization.', { organization: { id: 'acme' } }],
      ['.', { organization: 'acme' }],
      ['organization.constructor.name', { organization: { id: 'acme' } }],
      ['constructor.name', {}],
      ['__proto__.constructor.name', {}],
      ['toString.name', {}],
    ])('%s of %j leads to none', async (path, claims) => {
      await expect(at(path, claims)).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: expect.stringContaining(path),
      });
    });

    test('what a token calls __proto__ is a claim like others, and changes no object', async () => {
      const token = issuer.sign(JSON.parse('{"company":"acme","__proto__":{"organization":{"id":"globex"}}}'));
      const { authenticate } = await open({ AUTH_ISSUER: issuer.issuer, AUTH_COMPANY_CLAIM: 'organization.id' });
      await expect(authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      expect(Object.keys(Object.prototype)).toEqual([]);
    });
  });

  describe('the start', () => {
    test.each([
      ['out of reach', null],
      ['failing', { status: 500 }],
      ['redirecting', { status: 302 }],
      ['a web page', { body: '<html>' }],
      ['something else', { body: '{}' }],
    ])('waits for an issuer that is %s, and says so', async (_, how) => {
      const one = await startIssuer();
      if (how) one.misbehave(how);
      else await one.stop();
      const { checkIssuer } = await open({ AUTH_ISSUER: one.issuer });
      const told: string[] = [];
      expect(await checkIssuer?.((message) => told.push(message))).toBeNull();
      expect(told).toEqual([expect.stringContaining(`The issuer ${one.issuer} cannot be read (`)]);
      if (how) await one.stop();
    });

    test('asks keys alone with AUTH_JWKS_URI', async () => {
      const { checkIssuer } = await open({ AUTH_ISSUER: 'https://id.example', AUTH_JWKS_URI: issuer.jwksUri });
      expect(await checkIssuer?.(expect.unreachable)).toBeNull();
    });

    test('has nothing to ask where the gateway is its own issuer', async () => {
      expect((await open({})).checkIssuer).toBeUndefined();
    });
  });
});
