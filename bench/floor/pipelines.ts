import type { Socket } from 'node:net';
import pg from 'pg';
import type { Row } from './rows.ts';

const asText = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig;

const IN_ORDER = '-c enable_sort=off -c enable_incremental_sort=off -c enable_seqscan=off';
/** Rows of all companies are mixed, so by default PostgreSQL would read and sort a whole fleet for each page. */
const OPTIONS = `-c timezone=UTC -c datestyle=ISO -c default_transaction_isolation=read\\ committed -c idle_session_timeout=0 -c plan_cache_mode=force_generic_plan -c jit=off ${IN_ORDER}`;

/** Statements on connections to the same database. */
export interface Statements {
  /** The text in a statement's only row; `null` if there is no row. */
  json(text: string, values: unknown[]): Promise<string>;
  /** Runs a statement, which is prepared once, and returns its rows. */
  rows(text: string, values: unknown[]): Promise<Row[]>;
}

/** pg's own pool, as most servers have it: a connection for each statement that runs. */
export function openPool(url: string, connections: number): Statements {
  const pool = new pg.Pool({ connectionString: url, options: OPTIONS, max: connections });
  const names = new Map<string, string>();
  const rows = async (text: string, values: unknown[]): Promise<Row[]> => {
    const name = names.get(text) ?? `s${names.size}`;
    names.set(text, name);
    return (await pool.query({ name, text, values, rowMode: 'array', types: asText })).rows;
  };
  return { rows, json: async (text, values) => (await rows(text, values))[0]?.[0] ?? 'null' };
}

interface Pipeline {
  client: pg.Client;
  waiting: number;
  corked: boolean;
}

/** Connections in PostgreSQL's pipeline mode; concurrent requests share one packet for their statements. */
export class Pipelines implements Statements {
  readonly #pipelines: Pipeline[] = [];
  readonly #names = new Map<string, string>();

  static async open(url: string, connections: number): Promise<Pipelines> {
    const pipelines = new Pipelines();
    for (let left = connections; left > 0; left--) {
      const client = new pg.Client({
        connectionString: url,
        options: OPTIONS,
        pipeline: true,
      });
      await client.connect();
      pipelines.#pipelines.push({ client, waiting: 0, corked: false });
    }
    return pipelines;
  }

  async json(text: string, values: unknown[]): Promise<string> {
    return (await this.rows(text, values))[0]?.[0] ?? 'null';
  }

  rows(text: string, values: unknown[]): Promise<Row[]> {
    const name = this.#names.get(text) ?? `s${this.#names.size}`;
    this.#names.set(text, name);
    const pipeline = this.#pipelines.reduce((least, one) => (one.waiting < least.waiting ? one : least));
    pipeline.waiting += 1;
    cork(pipeline);
    return new Promise((resolve, reject) => {
      // Uses a callback: pg's promises keep each result until it is old for the garbage collector.
      pipeline.client.query<Row[]>({ name, text, values, rowMode: 'array', types: asText }, (error, result) => {
        pipeline.waiting -= 1;
        if (error) reject(error);
        else resolve(result.rows as unknown as Row[]);
      });
    });
  }
}

function cork(pipeline: Pipeline): void {
  if (pipeline.corked) return;
  pipeline.corked = true;
  const socket = (pipeline.client as unknown as { connection: { stream: Socket } }).connection.stream;
  socket.cork();
  setImmediate(() => {
    pipeline.corked = false;
    socket.uncork();
  });
}
