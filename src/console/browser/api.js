import { signal } from '@preact/signals';
import { t } from './languages/language.js';
import { readJson, token, turnedAway } from './session.js';

/** A new UUID; unlike crypto.randomUUID it is there on pages that came by plain http, too. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

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

/** Takes an error with one of these codes as an answer that has an `error`; others stay errors. */
export const unless =
  (...codes) =>
  (error) => {
    if (!codes.includes(error.code)) throw error;
    return { error };
  };

/** Parts of a list, as long as the gateway takes them. */
export const partsOf = (list, size = 1_000) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));

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
