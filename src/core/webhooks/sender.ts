import { createHmac, randomBytes } from 'node:crypto';
import { type LookupAddress, type LookupAllOptions, lookup as lookupName, promises } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type buildConnector, Pool, request } from 'undici';
import { openAgent, secondsToWait } from '../../manufacturers/index.ts';
import { cutText } from '../cut-text.ts';
import type { Event } from '../events/events.ts';
import { mendText } from '../input.ts';
import { isReachableAddress, webhookUrlFault } from './webhook.ts';

export type WebhookSender = ReturnType<typeof openWebhookSender>;

type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

interface Options {
  /** Whether this machine itself may be reached. */
  loopback: boolean;
  /** Whether receivers are reached through the proxy of the environment (openAgent). */
  byProxy?: boolean | undefined;
  timeoutMs?: number;
  lookup?: Lookup;
}

/** Bytes of an answer that are read, and characters of it that are kept. */
const ANSWER_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 1000;

/** The reasons why a receiver gave no answer, by their codes: whole texts, or their beginnings. Texts alone are stored. */
export const deliveryErrors = {
  URL_NOT_ALLOWED: 'The URL',
  HOST_NOT_FOUND: 'The host name cannot be resolved.',
  HOST_NOT_PUBLIC: 'The host is not on the public internet.',
  CONNECTION_REFUSED: 'The connection was refused.',
  CONNECTION_CLOSED: 'The connection was closed before an answer.',
  TIMEOUT: 'No answer within',
  REQUEST_FAILED: 'The request failed',
} as const;

/** Sends webhooks to public addresses only, checked as resolved for the connection in use. */
export function openWebhookSender({
  loopback,
  byProxy = false,
  timeoutMs = 15_000,
  lookup = loopback ? lookupName : askNameServers,
}: Options) {
  const checked = publicOnly(lookup, loopback);
  const agent = openAgent(byProxy, {
    connect: { lookup: checked, timeout: timeoutMs },
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    keepAliveTimeout: 4_000,
    proxyTunnel: true,
    // A function connects through a proxy.
    factory: (origin, { connect, ...options }: Pool.Options) =>
      new Pool(origin, { ...options, connect: typeof connect === 'function' ? byAddress(connect, checked) : connect }),
  });

  async function attempt(url: string, headers: Record<string, string>, body: string) {
    // The agent resolves no literal address, so it is checked here; publicOnly checks names.
    const fault = webhookUrlFault(new URL(url), { loopback });
    if (fault) throw new Refused(`${deliveryErrors.URL_NOT_ALLOWED} ${fault}.`);
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await request(url, { dispatcher: agent, method: 'POST', headers, body, signal });
    const answer = await beginningOf(response.body).catch(() => '');
    const retryAfter = secondsToWait(response.headers['retry-after']) ?? null;
    return { status: response.statusCode, answer, retryAfter, error: null };
  }

  return {
    /** Posts once, follows nothing, never throws. `error`: why there was no answer; `retryAfter` is in seconds. */
    async send(url: string, headers: Record<string, string>, body: string) {
      const start = performance.now();
      const outcome = await attempt(url, headers, body).catch((error) => {
        return { status: null, answer: null, retryAfter: null, error: reasonOf(error, timeoutMs) };
      });
      return { ...outcome, durationMs: Math.round(performance.now() - start) };
    },
    close: () => agent.destroy(),
  };
}

/** Without the system's resolver, whose two threads would let the database's name wait behind names of dead servers. */
const askNameServers: Lookup = async (hostname, _options, callback) => {
  const resolver = new promises.Resolver({ timeout: 2_000, tries: 2 });
  const none = (): string[] => [];
  const [four, six] = [resolver.resolve4(hostname).catch(none), resolver.resolve6(hostname).catch(none)];
  const addresses = [...(await four), ...(await six)].map((address) => ({ address, family: isIP(address) }));
  callback(addresses.length > 0 ? null : new Refused(deliveryErrors.HOST_NOT_FOUND), addresses);
};

/** Its message reveals no address. */
class Refused extends Error {}

/** Resolves a name, and rejects it if an address may not be reached; the connection uses the checked ones. */
const publicOnly =
  (lookup: Lookup, loopback: boolean): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isReachableAddress(address, { loopback }))) {
        return callback(new Refused(deliveryErrors.HOST_NOT_PUBLIC), '');
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

/** Has a proxy connect to the address that was checked here: it would resolve the name itself, perhaps to another one. */
const byAddress =
  (connect: buildConnector.connector, lookup: LookupFunction): buildConnector.connector =>
  (options, callback) => {
    const { hostname, port } = options;
    if (isIP(hostname.replace(/^\[(.*)\]$/, '$1'))) return connect(options, callback);
    lookup(hostname, {}, (error, address) => {
      if (error) return callback(error, null);
      const host = isIP(String(address)) === 6 ? `[${address}]` : address;
      connect(
        { ...options, servername: options.servername || hostname, host: port ? `${host}:${port}` : `${host}` },
        callback,
      );
    });
  };

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early ends the connection: the rest is never read.
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= ANSWER_BYTES) break;
  }
  return mendText(cutText(Buffer.concat(chunks).toString('utf8'), KEPT_CHARACTERS));
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: deliveryErrors.HOST_NOT_FOUND,
  EAI_AGAIN: deliveryErrors.HOST_NOT_FOUND,
  ECONNREFUSED: deliveryErrors.CONNECTION_REFUSED,
  ECONNRESET: deliveryErrors.CONNECTION_CLOSED,
  UND_ERR_SOCKET: deliveryErrors.CONNECTION_CLOSED,
};

function reasonOf(error: unknown, timeoutMs: number): string {
  const name = error instanceof Error ? error.name : '';
  if (error instanceof Refused) return error.message;
  if (name.endsWith('TimeoutError')) return `${deliveryErrors.TIMEOUT} ${timeoutMs / 1000} s.`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : name;
  return reasons[code] ?? `${deliveryErrors.REQUEST_FAILED} (${code}).`;
}

const LARGEST_BYTES = 20_000;
/** More vehicles than these take more than LARGEST_BYTES. */
export const MOST_PAYLOAD_VEHICLES = 300;

/** An event's body, as REST shows it; too large or without its vehicles, it is `truncated` and has an address. */
export function webhookPayload(event: Event): string {
  const whole = JSON.stringify(event);
  const hasAll = event.vehicles.length === event.vehicleCount;
  if (hasAll && Buffer.byteLength(whole) <= LARGEST_BYTES) return whole;
  return JSON.stringify({ ...event, vehicles: [], data: {}, truncated: true, url: `/events/${event.id}` });
}

const PREFIX = 'whsec_';

export const newWebhookSecret = (): string => `${PREFIX}${randomBytes(32).toString('base64')}`;

/** The headers of Standard Webhooks, with a signature for each secret, so that receivers can change theirs. */
export function signedHeaders(id: string, body: string, secrets: readonly string[], now: Date): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
