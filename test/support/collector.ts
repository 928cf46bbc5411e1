import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Json } from './client.ts';

/** A span as the gateway sent it, with its attributes as an object. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links: { traceId: string }[];
  attributes: Record<string, unknown>;
}

export interface ReceivedPoint {
  metric: string;
  attributes: Record<string, unknown>;
  /** The value of a gauge, or the number of recordings in a histogram. */
  value: number;
}

const plain = (attributes: Json[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** An OpenTelemetry collector for OTLP/HTTP in its JSON encoding. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  readonly points: ReceivedPoint[] = [];
  readonly resources: Record<string, unknown>[] = [];
  /** All request bodies, concatenated. */
  received = '';
  readonly #server = createServer(async (request, response) => {
    const body = await text(request);
    this.received += body;
    this.#take(JSON.parse(body));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await once(collector.#server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  trace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take({ resourceSpans = [], resourceMetrics = [] }: Json): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(plain(resource.attributes));
      for (const span of scopeSpans.flatMap(({ spans }: Json) => spans)) {
        this.spans.push({ links: [], ...span, attributes: plain(span.attributes) });
      }
    }
    for (const { name, histogram, gauge, sum } of resourceMetrics
      .flatMap(({ scopeMetrics }: Json) => scopeMetrics)
      .flatMap(({ metrics }: Json) => metrics)) {
      for (const point of (histogram ?? gauge ?? sum)?.dataPoints ?? []) {
        const value = Number(point.count ?? point.asDouble ?? point.asInt);
        this.points.push({ metric: name, attributes: plain(point.attributes), value });
      }
    }
  }
}
