import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { afterAll } from 'vitest';
import { makeKey } from './identity-provider.ts';

const audience = 'https://fleets.example';
const clientId = 'console';

/** A real OpenID provider at which people sign in by a click; tests change its state. */
export interface PeopleProvider {
  issuer: string;
  /** Settings of a gateway whose console signs in here. */
  settings: NodeJS.ProcessEnv;
  /** Lifetime of access tokens in seconds. */
  life: number;
  /** Whether it issues refresh tokens. */
  refreshing: boolean;
  /** Whether it leaves requests unanswered. */
  silent: boolean;
  /** The audience of its access tokens. */
  audience: string;
  /** The person who signs in: the company of the token. */
  person: string;
  /** Requested paths, in order. */
  asked: string[];
  /** Registers the console of the gateway at this address as a client. */
  serve(gateway: string): void;
}

/** Starts a provider that stops at the end of the test file; it answers 503 until `serve` is called. */
export async function startPeopleProvider(): Promise<PeopleProvider> {
  let answer: RequestListener = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => {
    state.asked.push((request.url ?? '').split('?')[0] ?? '');
    if (!state.silent) answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: PeopleProvider = {
    issuer,
    settings: {
      AUTH_ISSUER: issuer,
      AUTH_AUDIENCE: `${audience},fleet-gateway`,
      CONSOLE: 'on',
      CONSOLE_CLIENT_ID: clientId,
    },
    life: 300,
    refreshing: true,
    silent: false,
    audience,
    person: 'acme',
    asked: [],
    serve(gateway) {
      answer = answersOf(new Provider(issuer, configuration(state, `${gateway}/console`)), state);
    },
  };
  return state;
}

function configuration(state: PeopleProvider, home: string) {
  const { kid, privateKey } = makeKey('ES256');
  return {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['a secret of the test alone'] },
    clients: [
      {
        client_id: clientId,
        token_endpoint_auth_method: 'none',
        redirect_uris: [home],
        post_logout_redirect_uris: [home],
        grant_types: ['authorization_code', 'refresh_token'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    clientBasedCORS: (_: unknown, origin: string) => origin === new URL(home).origin,
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    extraTokenClaims: (_: unknown, { accountId }: { accountId: string }) => ({ company: accountId }),
    issueRefreshToken: () => state.refreshing,
    loadExistingGrant: granted,
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/people/${uid}` },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      rpInitiatedLogout: {
        logoutSource: (context: { body: string }, form: string) => {
          context.body = `${form}<button form="op.logoutForm" name="logout" value="yes">Leave the provider</button>`;
        },
      },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'fleets:read',
          audience: state.audience,
          accessTokenTTL: state.life,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  };
}

interface Context {
  oidc: { provider: Provider; client?: { clientId: string }; session?: { accountId: string } };
}

/** Grants access without asking for consent. */
async function granted({ oidc }: Context) {
  const grant = new oidc.provider.Grant({ clientId: oidc.client?.clientId, accountId: oidc.session?.accountId });
  grant.addOIDCScope('openid');
  grant.addResourceScope(audience, 'fleets:read');
  await grant.save();
  return grant;
}

const people =
  '<form method="post"><button>I am it</button><button name="not" formaction="?not">Not me</button></form>';

function answersOf(provider: Provider, state: PeopleProvider) {
  const callback = provider.callback();
  return (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/people/')) return callback(request, response);
    if (request.method === 'GET') return response.setHeader('content-type', 'text/html').end(people);
    const result = request.url.endsWith('?not')
      ? { error: 'access_denied', error_description: 'It was somebody else.' }
      : { login: { accountId: state.person } };
    return provider.interactionFinished(request, response, result);
  };
}
