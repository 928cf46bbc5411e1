import { signal } from '@preact/signals';
import { t } from './languages/language.js';
import { readJson, settings, token, turnedAway } from './session.js';

/** What a list says of its page, and a change of a fleet's vehicles of the fleet. */
export const pageData = `totalCount totalCountIsExact pageInfo { hasPreviousPage hasNextPage startCursor endCursor }`;
export const fleetData = `fleet { id name vehicleCount eligibilitySummary { eligible ineligible pending unsupported failed } }`;

/** A new UUID; unlike crypto.randomUUID, this also works on pages from plain http. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Whether the last request got no response from the gateway. */
export const away = signal(false);

/** An error response: `code` is stable and for programs, `errors` has the invalid fields by path. */
export class ApiError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.code = code;
    this.errors = details.errors ?? [];
    this.details = details;
  }
}

/** An error of a field, found by the page. */
export const fieldError = (path, message) =>
  new ApiError('VALIDATION_FAILED', message, { errors: [{ path, message }] });

export const unreachable = () => {
  away.value = true;
  return new ApiError('UNREACHABLE', t('The gateway does not answer.'));
};

/** Sends a document and returns fetch's response; `key` is its Idempotency-Key. Throws ApiError without a response. */
export async function send(query, variables, /** @type {any} */ { accept = 'application/json', signal, as, key } = {}) {
  const headers = { accept, 'content-type': 'application/json', ...authorization(as) };
  if (key) headers['idempotency-key'] = key;
  try {
    const body = JSON.stringify({ query, variables });
    return await fetch(`${settings.base}/graphql`, { method: 'POST', headers, body, signal });
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

/** Turns errors with one of these codes into a value with an `error`; rethrows other errors. */
export const unless =
  (...codes) =>
  (error) => {
    if (!codes.includes(error.code)) throw error;
    return { error };
  };

/** Splits a list into parts of the largest size that the gateway accepts. */
export const partsOf = (list, size = 1_000) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));

export const byFleet = (vehicles) =>
  [...Map.groupBy(vehicles, ({ fleet }) => fleet.id).values()].flatMap((own) => partsOf(own));

/** The data in the text of a response. Throws ApiError; ends the session if the token is no longer valid. */
export function dataOf(text) {
  const { data, errors } = readJson(text) ?? {};
  if (!data && !errors?.length) throw unreachable();
  away.value = false;
  if (!errors?.length) return data;
  const [{ message, extensions = {} }] = errors;
  if (extensions.code === 'UNAUTHENTICATED' && token.value) turnedAway({ code: 'UNAUTHENTICATED', message });
  throw new ApiError(extensions.code ?? 'INTERNAL', message, extensions);
}
