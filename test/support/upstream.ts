import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, findOperation } from '../../src/manufacturers/operations.ts';
import { documentedOperations } from './documented.ts';
import { type Endpoint, type Known, type Service, setService } from './documented-known.ts';
import { faultsOf } from './published.ts';

export interface Received {
  endpoint: Endpoint;
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
  /** The published document of the operation. */
  document?: string | undefined;
  /** The answer, where it is none that a test has set. */
  answer?: Answer;
  /** Does what is asked, each time it is called. */
  carryOut(): Promise<Answer>;
}

/** How the upstream handles one request instead of answering correctly. */
export type Behaviour = (response: ServerResponse, received: Received) => void | Promise<void>;

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    send(response, [status, body, headers]);

export const text =
  (status: number, body: string, headers: Record<string, string> = {}): Behaviour =>
  (response) => {
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body);
  };

export const slow =
  (ms: number, then: Behaviour): Behaviour =>
  async (response, received) => {
    await sleep(ms);
    await then(response, received);
  };

/** Carries the request out, then does this, and answers. */
export const carriedOut =
  (then: () => Promise<unknown> | undefined): Behaviour =>
  async (response, { carryOut }) => {
    const given = await carryOut();
    await then();
    send(response, given);
  };

/** Carries the request out, and closes the connection instead of answering. */
export const carriedOutUnanswered: Behaviour = async (response, { carryOut }) => {
  await carryOut();
  response.destroy();
};

/** Takes the request and never answers. */
export const silence: Behaviour = () => {};

/** Closes the connection instead of answering. */
export const hangUp: Behaviour = (response) => {
  response.destroy();
};

/** Promises 1,000 bytes, sends a few and closes the connection. */
export const halfAnAnswer: Behaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"vin":"', () => response.destroy());
};

/** Sends the head and a few bytes, then stalls. */
export const stall: Behaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"vin":"');
};

/** Answers that the requested vehicle is eligible. */
export const eligible =
  (extra: Record<string, unknown> = {}): Behaviour =>
  (response, received) =>
    send(response, [200, { vin: vinOf(received), eligible: true, data_delivery: ['pull', 'push'], ...extra }]);

/** The VIN in a request for an eligibility. */
export const vinOf = ({ body }: Received): string => JSON.parse(body).vin;

/**
 * A fake upstream with High Mobility's API (at `url`) and Mercedes-Benz Connect Your Fleet's (at `url` and `tokenUrl`), strict as
 * their documents (documented.ts). It answers by them unless a behaviour is set. Its credentials are `client` and `secret`.
 */
export class UpstreamServer {
  readonly received: Received[] = [];
  /** Connections opened so far, and the largest number of concurrent requests. */
  connections = 0;
  mostAtOnce = 0;
  tokenLifetime = 300;
  scope = 'openid';
  /** VINs of the Connect Your Fleet account. */
  readonly account = new Set<string>();
  readonly blacklist = new Set<string>();
  readonly services = new Map<string, Service>();
  readonly catalogue: Known['catalogue'] = new Map([
    ...['1001', '1002', '2001', '2002', '3001'].map((id) => [id, 'ordered by accounts'] as const),
    ['1000', 'other consent'],
    ['1003', 'missing role'],
  ]);
  readonly expired = new Set<string>();
  clock: Known['clock'] = Date.now;
  decide: Known['decide'] = () => ({ status: 'approved', afterMs: 0 });
  serves: Known['serves'] = () => ({ status: 'ACTIVE', afterMs: 0 });
  endsAfterMs = 0;
  lagsMs: Known['lagsMs'] = () => 0;
  /** Behaviours of requests without another. */
  behaves: (received: Received) => Behaviour | null = () => null;
  readonly #server = createServer((request, response) => void this.#handle(request, response));
  readonly #next = new Map<Endpoint, Behaviour[]>();
  readonly #always = new Map<Endpoint, Behaviour>();
  readonly tokens = new Set<string>();
  readonly #documented = documentedOperations(this);
  #underWay = 0;

  static async start(host = '127.0.0.1'): Promise<UpstreamServer> {
    const upstream = new UpstreamServer();
    upstream.#server.on('connection', () => upstream.connections++);
    upstream.#server.listen(0, host);
    await once(upstream.#server, 'listening');
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get tokenUrl(): string {
    return `${this.url}/v1/token`;
  }

  /** Queues behaviours for the next requests to this endpoint, one each. */
  next(endpoint: Endpoint, ...behaviours: Behaviour[]): void {
    this.#next.set(endpoint, [...(this.#next.get(endpoint) ?? []), ...behaviours]);
  }

  /** Sets the behaviour of requests to this endpoint without a queued one; undefined restores correct answers. */
  always(endpoint: Endpoint, behaviour: Behaviour | undefined): void {
    if (behaviour) this.#always.set(endpoint, behaviour);
    else this.#always.delete(endpoint);
  }

  /** Makes all tokens issued so far invalid. */
  revokeTokens(): void {
    this.tokens.clear();
  }

  serviceOf(vin: string, serviceId: string): Service | undefined {
    const one = this.services.get(`${vin} ${serviceId}`);
    if (one?.next && one.next.at <= this.clock()) {
      setService(one, one.next.status, one.next.at);
      one.next = null;
    }
    return one;
  }

  clearanceOf(vin: string) {
    return this.#documented.clearanceOf(vin);
  }

  count(endpoint: Endpoint): number {
    return this.received.filter((one) => one.endpoint === endpoint).length;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#underWay);
    response.once('close', () => this.#underWay--);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url: path = '', headers } = request;
    const { one, answer } = findOperation(this.#documented.operations, { method, url: path, headers, text: body });
    const endpoint = (one?.name ?? 'unknown') as Endpoint;
    const carryOut = async () => {
      received.answer = await answer();
      return received.answer;
    };
    const received: Received = { endpoint, method, path, headers, body, document: one?.document, carryOut };
    this.received.push(received);
    const scripted = this.#next.get(endpoint)?.shift() ?? this.#always.get(endpoint) ?? this.behaves(received);
    if (scripted) return scripted(response, received);
    send(response, await carryOut());
  }

  /** What was asked or answered otherwise than the published documents have it; of answers that tests set, only the question. */
  get faults(): string[] {
    return this.received.flatMap(({ method, path, body, document, answer }) => {
      if (!document) return [];
      const [status = 0, given] = answer ?? [];
      const exchange = { document, method, path, status, answer: given, ...(body && { body: JSON.parse(body) }) };
      const found = faultsOf(exchange);
      return [...found.request, ...(answer ? found.answer : [])].map((fault) => `${method} ${path}: ${fault}`);
    });
  }
}

function send(response: ServerResponse, [status, body, headers]: Answer): void {
  response.writeHead(status, { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
