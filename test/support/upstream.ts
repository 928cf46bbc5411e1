import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Received {
  endpoint: Endpoint;
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Endpoint = 'token' | 'eligibility' | 'compatibilities' | 'vehicles' | 'unknown';

/** How the upstream handles one request instead of answering correctly. */
export type Behaviour = (response: ServerResponse, received: Received) => void | Promise<void>;

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Behaviour =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

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
    json(200, { vin: vinOf(received), eligible: true, data_delivery: ['pull', 'push'], ...extra })(response, received);

/** The VIN in a request for an eligibility. */
export const vinOf = ({ body }: Received): string => JSON.parse(body).vin;

/**
 * A fake upstream with High Mobility's API (at `url`) and Mercedes-Benz Connect Your Fleet's (at `url` and `tokenUrl`).
 * It answers correctly unless a behaviour is set. Its credentials are `client` and `secret`.
 */
export class UpstreamServer {
  readonly received: Received[] = [];
  /** Connections opened so far, and the largest number of concurrent requests. */
  connections = 0;
  mostAtOnce = 0;
  tokenLifetime = 300;
  /** VINs of the Connect Your Fleet account. */
  readonly account = new Set<string>();
  readonly #server = createServer((request, response) => void this.#handle(request, response));
  readonly #next = new Map<Endpoint, Behaviour[]>();
  readonly #always = new Map<Endpoint, Behaviour>();
  readonly #tokens = new Set<string>();
  #underWay = 0;

  static async start(): Promise<UpstreamServer> {
    const upstream = new UpstreamServer();
    upstream.#server.on('connection', () => upstream.connections++);
    upstream.#server.listen(0, '127.0.0.1');
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
    this.#tokens.clear();
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
    const received = { endpoint: endpointOf(method, path), method, path, headers, body };
    this.received.push(received);
    const scripted = this.#next.get(received.endpoint)?.shift() ?? this.#always.get(received.endpoint);
    await (scripted ?? this.#rightly)(response, received);
  }

  readonly #rightly: Behaviour = (response, received) => {
    if (received.endpoint === 'token') return this.#issue(received)(response, received);
    const authorised = this.#tokens.has(received.headers.authorization?.replace(/^Bearer /, '') ?? '');
    const refusal = { errors: [{ title: 'Not authorized', source: 'Authorization' }] };
    const answer = authorised ? this.#answer(received) : json(401, refusal);
    return answer(response, received);
  };

  #issue({ path, headers, body }: Received): Behaviour {
    const asForm = path === '/v1/token';
    const basic = `Basic ${Buffer.from('client:secret').toString('base64')}`;
    const good = asForm
      ? headers.authorization === basic && body === 'grant_type=client_credentials&scope=openid'
      : body === JSON.stringify({ grant_type: 'client_credentials', client_id: 'client', client_secret: 'secret' });
    if (!good) return json(asForm ? 401 : 400, { error: 'invalid_request' });
    const token = randomUUID();
    this.#tokens.add(token);
    return json(200, { access_token: token, expires_in: this.tokenLifetime, token_type: 'bearer' });
  }

  #answer({ endpoint, path, body }: Received): Behaviour {
    if (endpoint === 'eligibility') return eligible();
    if (endpoint === 'vehicles') {
      for (const vin of JSON.parse(body)) this.account.add(vin);
      return json(201, null);
    }
    const vin = path.split('/')[4] ?? '';
    if (endpoint !== 'compatibilities' || !this.account.has(vin)) {
      return json(404, { type: '/vehicle/not-found', statusCode: 404, vins: [vin] });
    }
    const services = [{ serviceId: '1001', serviceName: 'Mileage', available: true }];
    return json(200, { vin, vehicleProvidesConnectivity: true, vehicleType: 'Battery Electric Vehicle', services });
  }
}

function endpointOf(method: string, path: string): Endpoint {
  if (method === 'POST' && /^\/v1\/(access_tokens|token)$/.test(path)) return 'token';
  if (method === 'POST' && path === '/v1/eligibility') return 'eligibility';
  if (method === 'POST' && path === '/v1/accounts/vehicles') return 'vehicles';
  if (method === 'GET' && /^\/v1\/accounts\/vehicles\/\w+\/compatibilities$/.test(path)) return 'compatibilities';
  return 'unknown';
}
