import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openAuthenticator } from '../../src/http/identity/caller.ts';
import { makeKey } from '../support/identity-provider.ts';

const audience = 'https://fleets.example';
const secret = 'a secret of the test client alone';
let server: Server;
let issuer: string;
let answer: RequestListener;

/** A real OpenID provider with one new key; the id of a client is its company. */
function newProvider(alg: string): RequestListener {
  const { kid, privateKey } = makeKey(alg);
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' }] },
    clients: ['acme', 'globex'].map((client_id) => ({
      client_id,
      client_secret: secret,
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
      id_token_signed_response_alg: alg,
    })),
    scopes: ['fleets:read', 'fleets:write'],
    extraTokenClaims: (_context: unknown, token: { clientId: string }) => ({
      company: token.clientId,
      'https://fleets.example/tenant': `tenant of ${token.clientId}`,
    }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'fleets:read fleets:write',
          audience: resource,
          accessTokenTTL: 300,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg } },
        }),
      },
    },
  });
  return provider.callback();
}

async function fetchToken(client: string, fields: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client}:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...fields }),
  });
  const body = (await response.json()) as { access_token: string };
  expect(response.status, JSON.stringify(body)).toBe(200);
  return `Bearer ${body.access_token}`;
}

function authenticator(env: NodeJS.ProcessEnv = {}) {
  return openAuthenticator(readConfig({ AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience, ...env }));
}

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  answer = newProvider('ES256');
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('OpenID provider: its token identifies the caller, with discovery only', async () => {
  const { authenticate, warnings } = await authenticator();
  expect(await authenticate(await fetchToken('acme'))).toEqual({
    company: 'acme',
    subject: 'acme',
    scopes: null,
    expiresAt: expect.any(Number),
  });
  expect((await authenticate(await fetchToken('globex')))?.company).toBe('globex');
  expect(warnings).toEqual([]);
});

test('OpenID provider: scopes are read from the token if AUTH_SCOPES is on', async () => {
  const { authenticate } = await authenticator({ AUTH_SCOPES: 'on' });
  const scopesOf = async (fields?: Record<string, string>) =>
    (await authenticate(await fetchToken('acme', fields)))?.scopes;
  expect(await scopesOf({ scope: 'fleets:read fleets:write' })).toEqual(new Set(['fleets:read', 'fleets:write']));
  expect(await scopesOf()).toEqual(new Set());
});

test('OpenID provider: the company may be in a namespaced claim', async () => {
  const { authenticate } = await authenticator({ AUTH_COMPANY_CLAIM: 'https://fleets.example/tenant' });
  expect((await authenticate(await fetchToken('acme')))?.company).toBe('tenant of acme');
});

test('OpenID provider: a token for another audience is refused, unless no audience is set', async () => {
  const token = await fetchToken('acme', { resource: 'https://other.example' });
  const strict = await authenticator();
  await expect(strict.authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  const lenient = await authenticator({ AUTH_AUDIENCE: '' });
  expect((await lenient.authenticate(token))?.company).toBe('acme');
  expect(lenient.warnings).toEqual([expect.stringContaining('AUTH_AUDIENCE')]);
});

test('OpenID provider: rotated keys, even of another algorithm, work without a restart', async () => {
  const { authenticate } = await authenticator();
  const old = await fetchToken('acme');
  await authenticate(old);
  answer = newProvider('RS256');
  expect((await authenticate(await fetchToken('acme')))?.company).toBe('acme');
  await expect(authenticate(old)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});
