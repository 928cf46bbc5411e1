import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import type { Json } from './client.ts';
import { until } from './until.ts';

export interface ReceivedWebhook {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The body, parsed as an event. */
  event: Json;
}

/** How the receiver answers a request, instead of with 204. */
export type Answering = (response: ServerResponse) => void;

export const status =
  (code: number, headers: Record<string, string> = {}): Answering =>
  (response) => {
    response.writeHead(code, headers).end();
  };

/** Takes the request and never answers. */
export const hang: Answering = () => {};

/** A server that receives webhooks. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  underWay = 0;
  readonly #always = new Map<string, Answering>();
  readonly #next = new Map<string, Answering[]>();
  readonly #server = createServer(async (request, response) => {
    this.underWay++;
    response.once('close', () => this.underWay--);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const path = request.url ?? '';
    this.received.push({ path, headers: request.headers, body, event: JSON.parse(body || 'null') });
    (this.#next.get(path)?.shift() ?? this.#always.get(path) ?? status(204))(response);
  });

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    afterAll(() => receiver.close());
    return receiver;
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** Sets the answers to the next requests to this path, one each. */
  next(path: string, ...answers: Answering[]): void {
    this.#next.set(path, answers);
  }

  /** Sets the answer to every request to this path. */
  always(path: string, answer: Answering): void {
    this.#always.set(path, answer);
  }

  at(path: string): ReceivedWebhook[] {
    return this.received.filter((one) => one.path === path);
  }

  /** Waits for at least `count` requests to this path. */
  some(path: string, count = 1, ms?: number): Promise<ReceivedWebhook[]> {
    return until(() => (this.at(path).length >= count ? this.at(path) : null), ms);
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
