import type { Socket } from 'node:net';
import pg from 'pg';

/** Few, since many statements in one packet is what saves; several, so that one that takes long holds up few others. */
const MOST_CONNECTIONS = 4;
/** What takes longer than this is not short, or waits for a lock: nobody else waits behind it. */
const SHORT_MS = 500;

interface Pipeline {
  client: pg.Client;
  /** null once the connection is there. */
  opening: Promise<unknown> | null;
  /** Statements that have no answer yet. */
  waiting: number;
  /** What was sent since the process last looked at its sockets goes out together. */
  corked: boolean;
}

/**
 * Short reads that share a few connections in PostgreSQL's pipeline mode: a statement does not wait for the answer to the
 * one before it, and those of requests that arrive together go in one packet. Each is a transaction of its own.
 */
export class Pipelines {
  readonly #Client: typeof pg.Client;
  readonly #config: pg.ClientConfig;
  readonly #pipelines = new Set<Pipeline>();

  constructor(Client: typeof pg.Client, config: pg.ClientConfig) {
    this.#Client = Client;
    this.#config = { ...config, statement_timeout: SHORT_MS, pipeline: true };
  }

  /** The rows of a read; null when it must be asked on a connection of its own: this one was lost, or it is not short. */
  async read(statement: string, values: readonly unknown[]): Promise<unknown[] | null> {
    const pipeline = this.#leastBusy();
    pipeline.waiting += 1;
    try {
      if (pipeline.opening) await pipeline.opening;
      cork(pipeline);
      return (await pipeline.client.query(statement, values as unknown[])).rows;
    } catch (error) {
      if (error instanceof pg.DatabaseError && !isOfServer(error)) throw error;
      this.#cut(pipeline);
      return null;
    } finally {
      pipeline.waiting -= 1;
    }
  }

  close(): void {
    for (const pipeline of this.#pipelines) this.#cut(pipeline);
  }

  #leastBusy(): Pipeline {
    let least: Pipeline | undefined;
    for (const pipeline of this.#pipelines) if (!least || pipeline.waiting < least.waiting) least = pipeline;
    return least && (least.waiting === 0 || this.#pipelines.size >= MOST_CONNECTIONS) ? least : this.#open();
  }

  #open(): Pipeline {
    const client = new this.#Client(this.#config);
    const pipeline: Pipeline = { client, opening: null, waiting: 0, corked: false };
    const lost = () => this.#pipelines.delete(pipeline);
    client.on('error', lost).once('end', lost);
    pipeline.opening = client.connect().then(() => {
      pipeline.opening = null;
    });
    this.#pipelines.add(pipeline);
    return pipeline;
  }

  /** Whoever waits behind is told at once, and asks elsewhere. */
  #cut(pipeline: Pipeline): void {
    this.#pipelines.delete(pipeline);
    socketOf(pipeline.client).destroy();
  }
}

/**
 * Not of the statement itself: it was cancelled, waited for too long or the server goes down (classes 53 to 58); or the one
 * before it, which was to prepare it, came to such an end (26000).
 */
const isOfServer = ({ code }: pg.DatabaseError): boolean => /^(26000|5[3578])/.test(code ?? '');

function cork(pipeline: Pipeline): void {
  if (pipeline.corked) return;
  pipeline.corked = true;
  const socket = socketOf(pipeline.client);
  socket.cork();
  setImmediate(() => {
    pipeline.corked = false;
    socket.uncork();
  });
}

/** What pg's client knows of itself, beside its types. */
const socketOf = (client: pg.Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
