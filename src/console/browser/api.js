import { signal } from '@preact/signals';
import { t } from './languages/language.js';
import { token, turnedAway } from './session.js';

/** Whether the last request got no answer of the gateway. */
export const away = signal(false);

/** An answer that is an error: `code` is for programs and stable, `errors` has the fields that are wrong, by path. */
export class ApiError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.code = code;
    this.errors = details.errors ?? [];
    this.details = details;
  }
}

/** An error of one field that the page itself has found. */
export const fieldError = (path, message) =>
  new ApiError('VALIDATION_FAILED', message, { errors: [{ path, message }] });

export const unreachable = () => {
  away.value = true;
  return new ApiError('UNREACHABLE', t('The gateway does not answer.'));
};

/** Sends a document, and gives what fetch does; `key` is its Idempotency-Key. Throws ApiError where nobody answers. */
export async function send(query, variables, /** @type {any} */ { accept = 'application/json', signal, as, key } = {}) {
  const headers = { accept, 'content-type': 'application/json', ...authorization(as) };
  if (key) headers['idempotency-key'] = key;
  try {
    return await fetch('/graphql', { method: 'POST', headers, body: JSON.stringify({ query, variables }), signal });
  } catch (error) {
    throw signal?.aborted ? error : unreachable();
  }
}

export const authorization = (as = token.value) => ({ authorization: `Bearer ${as}` });

/** The data of a query or a mutation. Throws ApiError. */
export async function ask(query, variables, options) {
  const answer = await send(query, variables, options);
  const text = await answer.text().catch((error) => {
    throw options?.signal?.aborted ? error : unreachable();
  });
  return dataOf(text);
}

/** The data of a query; null where the token may not read it. Throws ApiError. */
export const askIfAllowed = (query, variables) =>
  ask(query, variables).catch((error) => {
    if (error.code !== 'FORBIDDEN') throw error;
    return null;
  });

/** The data of an answer's text. Throws ApiError, and ends the session where the token no longer counts. */
export function dataOf(text) {
  const { data, errors } = readJson(text) ?? {};
  if (!data && !errors?.length) throw unreachable();
  away.value = false;
  if (!errors?.length) return data;
  const [{ message, extensions = {} }] = errors;
  if (extensions.code === 'UNAUTHENTICATED' && token.value) turnedAway(message);
  throw new ApiError(extensions.code ?? 'INTERNAL', message, extensions);
}

/** What JSON says; nothing where a text is none, such as what a proxy answers. */
export function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
