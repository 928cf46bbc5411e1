import { signal } from '@preact/signals';
import { ask } from './api.js';
import { t } from './languages/language.js';
import { go } from './router.js';
import { ended, lapsed, settings, signIn, signOut, token } from './session.js';

const { issuer, client: client_id, scope, audience } = settings;
/** Providers read one of these parameters and ignore the other; `resource` (RFC 8707) must be a URI. */
const meant = { ...(audience && { audience }), ...(URL.canParse(audience) && { resource: audience }) };
const redirect_uri = location.origin + location.pathname;
/** Key of sessionStorage for a sign-in under way: verifier, state, nonce and page. */
const WAY = 'fleet-gateway-way';
/** Key of localStorage: whether the provider is asked to sign in silently. */
const SIGNED_IN = 'fleet-gateway-signed-in';
const EARLY_MS = 60_000;
const PATIENCE_MS = 10_000;

/** Whether people sign in with an identity provider. */
export const hasIssuer = Boolean(client_id);

/** Whether a redirect to or from the provider is under way. */
export const busy = signal(false);
const channel = /** @type {any} */ (hasIssuer && new BroadcastChannel('fleet-gateway'));
const me = crypto.randomUUID?.();
/** The tab that has opened this one to get tokens. */
let asking = new URLSearchParams(location.search).get('again');
let tokens;
let timer;

async function provider() {
  if (!isSecureContext) throw new Error(t('Signing in needs https.'));
  const oauth = await import('oauth4webapi');
  const address = new URL(issuer);
  const insecure = { [oauth.allowInsecureRequests]: address.protocol === 'http:' };
  const options = { ...insecure, additionalParameters: meant, signal: () => AbortSignal.timeout(PATIENCE_MS) };
  const server = await oauth.processDiscoveryResponse(address, await oauth.discoveryRequest(address, options));
  const { origin } = new URL(server.token_endpoint ?? '');
  const own = /** @type {[any, any, any]} */ ([server, { client_id }, oauth.None()]);
  if (origin === address.origin) return { oauth, server, options, own };
  throw new Error(
    t('The identity provider issues tokens at {origin}; the console may only contact {own}.', {
      origin,
      own: address.origin,
    }),
  );
}

/** Redirects to the provider; `silent` asks it for an answer without a dialog. */
export async function begin({ silent }) {
  busy.value = true;
  try {
    const { oauth, server } = await provider();
    const verifier = oauth.generateRandomCodeVerifier();
    const checks = { state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce() };
    const code_challenge = await oauth.calculatePKCECodeChallenge(verifier);
    const fixed = { client_id, redirect_uri, scope, response_type: 'code', code_challenge_method: 'S256' };
    sessionStorage.setItem(WAY, JSON.stringify({ ...checks, verifier, page: location.hash, silent, asking }));
    const query = { ...fixed, ...meant, ...checks, code_challenge, prompt: silent && 'none' };
    leaveFor(server.authorization_endpoint, query);
  } catch (error) {
    fail(error);
  }
}

function leaveFor(/** @type {any} */ endpoint, query) {
  const address = new URL(endpoint);
  for (const [name, value] of Object.entries(query)) if (value) address.searchParams.set(name, value);
  // The Back button must not lead to a page that redirects again.
  location.replace(address);
}

async function finish(answer) {
  const way = JSON.parse(sessionStorage.getItem(WAY) ?? '{}');
  sessionStorage.removeItem(WAY);
  go(location.pathname + (way.page ?? ''), { replace: true });
  busy.value = true;
  asking = way.asking;
  try {
    if (!way.state) throw new Error(t('This sign-in started in another window. Sign in again.'));
    const { oauth, server, options, own } = await provider();
    const code = oauth.validateAuthResponse(server, { client_id }, answer, way.state);
    const response = await oauth.authorizationCodeGrantRequest(...own, code, redirect_uri, way.verifier, options);
    const checks = { expectedNonce: way.nonce, requireIdToken: true };
    const given = await oauth.processAuthorizationCodeResponse(server, { client_id }, response, checks);
    await ask('{ __typename }', {}, { as: given.access_token }).catch(refuse);
    if (!asking) return keep(given);
    channel.postMessage({ to: asking, given });
    ended.value = t('You are signed in again. You can close this window.');
    close();
  } catch (error) {
    fail(error, way.silent);
  }
}

function refuse({ code, message }) {
  if (!['UNAUTHENTICATED', 'FORBIDDEN'].includes(code)) return;
  throw new Error(t('The gateway rejected the identity provider’s token: {message}', { message }));
}

const sentences = {
  access_denied: t('The identity provider denied access.'),
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: t(
    'The clock of this device differs from the identity provider’s. Set it and sign in again.',
  ),
};

function fail(error, silent) {
  const refused =
    error.error && t('The identity provider refused: {message}', { message: error.error_description ?? error.error });
  const away =
    (error instanceof TypeError || error.name === 'TimeoutError') &&
    t('The identity provider does not answer, or does not know the address of this page.');
  over(silent && error.error ? '' : (sentences[error.error ?? error.code] ?? (refused || away || error.message)));
}

/** Keeps tokens in memory only, and renews them before they expire. */
function keep(given) {
  tokens = given;
  localStorage.setItem(SIGNED_IN, 'yes');
  signIn(given.access_token, { pasted: false });
  busy.value = false;
  clearTimeout(timer);
  const life = given.expires_in * 1_000;
  const early = given.refresh_token ? Math.min(life / 2, EARLY_MS) : 0;
  if (life) timer = setTimeout(renew, Math.min(life - early, 2 ** 31 - 1), Date.now() + life);
}

async function renew(until) {
  const before = tokens;
  try {
    const { oauth, server, options, own } = await provider();
    const response = await oauth.refreshTokenGrantRequest(...own, before.refresh_token, options);
    const given = await oauth.processRefreshTokenResponse(server, { client_id }, response);
    if (tokens === before) keep({ ...before, ...given });
  } catch {
    if (tokens !== before) return;
    if (Date.now() < until) timer = setTimeout(renew, PATIENCE_MS, until);
    else lapsed.value = { message: t('Your session has ended. Sign in again; nothing you entered is lost.') };
  }
}

/** Signs in again in a new window, which hands its tokens to this page, so that open forms stay as they are. */
export const signInAgain = () => open(`${redirect_uri}?again=${me}`, '_blank', 'popup,noopener,width=520,height=720');

/** Ends the session in all tabs, and at the provider if there is one. */
export async function leave() {
  if (!tokens) return signOut();
  const { refresh_token, id_token: id_token_hint } = tokens;
  over('');
  channel.postMessage({ out: true });
  try {
    const { oauth, server, options, own } = await provider();
    if (refresh_token && server.revocation_endpoint)
      await oauth.revocationRequest(...own, refresh_token, options).catch(() => {});
    const query = { client_id, id_token_hint, post_logout_redirect_uri: redirect_uri };
    if (server.end_session_endpoint) leaveFor(server.end_session_endpoint, query);
  } catch {
    ended.value = t('You are signed out here. The identity provider did not answer; you may still be signed in there.');
  }
}

function over(why) {
  tokens = undefined;
  clearTimeout(timer);
  localStorage.removeItem(SIGNED_IN);
  busy.value = false;
  signOut(why);
}

if (hasIssuer) {
  channel.onmessage = ({ data }) => {
    if (data.to === me) keep(data.given);
    if (data.out && tokens) over(t('You have signed out in another tab.'));
  };
  const answer = new URLSearchParams(location.search);
  if (answer.has('state')) finish(answer);
  else if (asking || (!token.value && localStorage.getItem(SIGNED_IN))) begin({ silent: !asking });
}
