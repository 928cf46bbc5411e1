import { computed, signal } from '@preact/signals';

const KEY = 'fleet-gateway-token';
const LEFT = 'left';
/** Settings that the gateway has written into the page. */
export const settings = /** @type {Record<string, any>} */ ({ ...document.documentElement.dataset });

/** A token of the company "demo"; empty if an issuer makes the tokens. */
export const demoToken = settings.token;
const kept = sessionStorage.getItem(KEY);

/** The token of all requests; empty before signing in. A pasted token lasts as long as the tab. */
export const token = signal(kept === LEFT ? '' : kept || demoToken);

/** The reason why the user must sign in again; the page stays open. */
export const lapsed = signal(/** @type {any} */ (null));

/** The reason why the last session ended by itself. */
export const ended = signal('');

/** The company of the token, for display; the gateway alone verifies it. */
export const company = computed(() => {
  const claims = claimsOf(token.value);
  return String(
    claims[settings.claim] ?? settings.claim.split('.').reduce((value, name) => value?.[name], claims) ?? '',
  );
});

/** Parses JSON; undefined if the text is none, such as a proxy's error page. */
export function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MOST_RECENT = 8;
const recentKey = () => `fleet-gateway-recent-${company.value}`;

/** Objects of this company that the tab has shown, latest first: `name`, a description of the place, and address. */
export const recents = () => readJson(sessionStorage.getItem(recentKey())) ?? [];

export function remember(thing) {
  const others = recents().filter(({ href }) => href !== thing.href);
  sessionStorage.setItem(recentKey(), JSON.stringify([thing, ...others].slice(0, MOST_RECENT)));
}

function claimsOf(jwt) {
  try {
    const [, payload = ''] = jwt.split('.');
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (byte) =>
      byte.charCodeAt(0),
    );
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}

/** Starts a session; a `pasted` token is stored for the tab, a provider's token stays in memory. */
export function signIn(value, { pasted = true } = {}) {
  // The demo's token is not stored: every page load has a new one.
  if (value === demoToken || !pasted) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
  ended.value = '';
  lapsed.value = null;
  token.value = value;
}

export function signOut(why = '') {
  sessionStorage.setItem(KEY, LEFT);
  ended.value = why;
  lapsed.value = null;
  token.value = '';
}

/** A page that is younger than this has a new token of the demo. */
const NEW_MS = 5_000;

/** Asks to sign in again if the gateway refuses the token; the demo's is renewed with the page. */
export function turnedAway(why) {
  if (token.value === demoToken && performance.now() > NEW_MS) location.reload();
  else lapsed.value = why;
}
