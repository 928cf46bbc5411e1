import { Agent, type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import { z } from 'zod';
import type { Trace } from './host.ts';
import { ProviderError } from './provider.ts';

/** Connections to other services; `byProxy`: through that of HTTPS_PROXY and HTTP_PROXY, but for what NO_PROXY names. */
export const openAgent = (byProxy: boolean, options: EnvHttpProxyAgent.Options): Dispatcher =>
  byProxy ? new EnvHttpProxyAgent(options) : new Agent(options);

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'DELETE';
  url: string;
  headers?: Record<string, string>;
  /** A form is sent as one, anything else as JSON. */
  body?: unknown;
}

/** 2xx, 3xx or 4xx other than 429. `body` is parsed JSON where it was JSON. */
export interface Reply {
  outcome: 'REPLY';
  status: number;
  body: unknown;
}

/** Characters of a body that is not JSON. */
const KEPT_TEXT = 1000;

/** Sends one request. Throws ProviderError for a time-out, a broken connection, 429, 5xx, and a 2xx that is not JSON. */
export const exchange = (dispatcher: Dispatcher, call: UpstreamRequest, timeoutMs: number, trace: Trace) =>
  trace(
    () => stepOf(call),
    () => send(dispatcher, call, timeoutMs),
    ({ status }) => ({ 'http.response.status_code': status }),
  );

/** The address is shown without its query; telemetry masks a VIN in the path but for its end. */
function stepOf({ method, url }: UpstreamRequest) {
  const { origin, pathname, hostname, port, protocol } = new URL(url);
  const labels = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
  };
  return {
    name: method,
    kind: 'client' as const,
    attributes: { ...labels, 'url.full': `${origin}${pathname}` },
    measured: { metric: 'http.client.request.duration', labels },
  };
}

async function send(dispatcher: Dispatcher, call: UpstreamRequest, timeoutMs: number): Promise<Reply> {
  const signal = AbortSignal.timeout(timeoutMs);
  return request(call.url, { dispatcher, signal, ...encoded(call) })
    .then(async ({ statusCode, headers, body }) => [statusCode, headers, await body.text()] as const)
    .catch((error) => {
      throw brokenOff(error, signal.aborted);
    })
    .then((answer) => replyOf(...answer));
}

/** The fault of a call that did not come to its end. */
function brokenOff(error: Error & { code?: unknown }, isLate: boolean): ProviderError {
  // The code alone: messages of the network stack may quote what was sent.
  const code = typeof error.code === 'string' ? error.code : error.name;
  const kind = code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' ? 'BAD_ANSWER' : 'UNREACHABLE';
  return new ProviderError(isLate ? 'TIMEOUT' : kind, { raw: { fault: code } });
}

/** The reply of a status and a text; throws ProviderError for 429, 5xx, and a 2xx that is not JSON. */
function replyOf(status: number, headers: Dispatcher.ResponseData['headers'], text: string): Reply {
  const parsed = parse(text);
  const body = parsed === undefined ? text.slice(0, KEPT_TEXT) : parsed;
  const raw = { status, body };
  const retryAfter = secondsToWait(headers['retry-after']);
  if (status === 429) throw new ProviderError('BUSY', { retryAfter, raw });
  // A server that says when to come back is alive, but what it does for another brand may be, too.
  const busy = { retryAfter, raw, concerns: 'BRAND' } as const;
  if (status >= 500) throw new ProviderError(retryAfter === undefined ? 'ERROR' : 'BUSY', busy);
  if (status < 300 && parsed === undefined) throw new ProviderError('BAD_ANSWER', { raw });
  return { outcome: 'REPLY', status, body };
}

/**
 * Asks for a list of any length. Gives its text as it comes, each part within the time-out; a reply where it is refused. Throws ProviderError,
 * as `exchange` does.
 */
export async function exchangeList(dispatcher: Dispatcher, call: UpstreamRequest, timeoutMs: number) {
  const times = { headersTimeout: timeoutMs, bodyTimeout: timeoutMs };
  const broken = (error: Error & { code?: unknown }): never => {
    throw brokenOff(error, /^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(String(error.code)));
  };
  const { statusCode, headers, body } = await request(call.url, { dispatcher, ...times, ...encoded(call) }).catch(
    broken,
  );
  if (statusCode !== 200) return replyOf(statusCode, headers, await body.text().catch(broken));
  async function* parts(): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      broken(error as Error);
    }
  }
  return { outcome: 'PARTS' as const, parts: parts() };
}

function encoded({ method, headers, body }: UpstreamRequest) {
  const accept = { accept: 'application/json', ...headers };
  if (body === undefined) return { method, headers: accept };
  const isForm = body instanceof URLSearchParams;
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
  return { method, headers: { ...accept, 'content-type': type }, body: isForm ? `${body}` : JSON.stringify(body) };
}

/** Writing and storing an answer recurses for each level, so a deep one would overflow the stack. */
const MOST_LEVELS = 100;

/** null for an empty body, undefined for what is not JSON, or has too many levels. */
function parse(text: string): unknown {
  if (text === '') return null;
  try {
    const body = JSON.parse(text);
    return hasLevels(body, MOST_LEVELS) ? body : undefined;
  } catch {
    return undefined;
  }
}

const hasLevels = (value: unknown, most: number): boolean =>
  !(value instanceof Object) || (most > 0 && Object.values(value).every((one) => hasLevels(one, most - 1)));

/** A token as an OAuth token endpoint issues it; `expires_in` is in seconds. */
export const issuedToken = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });
export type IssuedToken = z.output<typeof issuedToken>;

const RENEW_EARLY_MS = 30_000;

/** One token shared by all calls: renewed 30 s before it runs out, by one caller while the others wait for the same renewal. */
export function sharedToken(issue: () => Promise<IssuedToken>, clock: () => number) {
  let current: { value: string; renewAt: number } | null = null;
  let renewal: Promise<string> | null = null;

  async function renew(): Promise<string> {
    const askedAt = clock();
    const { access_token: value, expires_in: seconds } = await issue();
    const lifetime = seconds * 1000;
    // A token too short-lived for 30 s of margin is used for half its life.
    current = { value, renewAt: askedAt + lifetime - Math.min(RENEW_EARLY_MS, lifetime / 2) };
    return value;
  }
  return {
    async get(): Promise<string> {
      if (current && clock() < current.renewAt) return current.value;
      renewal ??= renew().finally(() => {
        renewal = null;
      });
      return renewal;
    },
    drop(value: string): void {
      if (current?.value === value) current = null;
    },
  };
}

/** Seconds after which a service that names a longer time is asked again. */
const LONGEST_WAIT = 3600;

/** Seconds of a Retry-After header, which names seconds or an HTTP date (0 if it has passed); undefined if it does neither. */
export function secondsToWait(header: string | string[] | undefined, now = Date.now()): number | undefined {
  const value = (Array.isArray(header) ? header[0] : header)?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Math.min(Number(value), LONGEST_WAIT);
  // Date.parse takes far more than HTTP dates; those begin with the day's name.
  const at = /^[A-Z][a-z]{2,8},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, Math.ceil((at - now) / 1000)), LONGEST_WAIT);
}
