import { computed, signal } from '@preact/signals';

const KEY = 'fleet-gateway-token';
const LEFT = 'left';
/** What the page was given by the gateway. */
export const settings = /** @type {Record<string, any>} */ ({ ...document.documentElement.dataset });

/** A ready token for the company "demo"; empty where tokens come from an issuer. */
export const demoToken = settings.token;

const kept = sessionStorage.getItem(KEY);

/** The token of all requests; empty before signing in. A pasted one lasts as long as the tab. */
export const token = signal(kept === LEFT ? '' : kept || demoToken);

/** Why the session must be renewed by hand; the page stays as it is meanwhile. */
export const lapsed = signal('');

/** Why the last session ended, where it did so by itself. */
export const ended = signal('');

/** The company of the token, for display; the gateway alone verifies it. */
export const company = computed(() => String(claimsOf(token.value)[settings.claim] ?? ''));

/** What JSON says; nothing where a text is none, such as what a proxy answers. */
export function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MOST_RECENT = 8;
const recentKey = () => `fleet-gateway-recent-${company.value}`;

/** The things whose pages this tab has shown of this company, the last one first: a `name`, where it lies, and its address. */
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

/** Starts a session; `pasted` tokens are kept in the tab, and those of a provider in memory alone. */
export function signIn(value, { pasted = true } = {}) {
  // The demo's own is not kept: the page brings a fresh one each time.
  if (value === demoToken || !pasted) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
  ended.value = '';
  lapsed.value = '';
  token.value = value;
}

export function signOut(why = '') {
  sessionStorage.setItem(KEY, LEFT);
  ended.value = why;
  lapsed.value = '';
  token.value = '';
}

/** The gateway refuses the token; a pasted one is of no use any more. */
export function turnedAway(why) {
  if (sessionStorage.getItem(KEY) || token.value === demoToken) signOut(why);
  else lapsed.value = why;
}
