import pg from 'pg';
import type { PostgresConnection } from './connection.ts';
import type { Row } from './database.ts';
import type { ServerWatch } from './server-watch.ts';

/** A statement that takes longer is not short, or waits for a lock. */
const SHORT_MS = 500;
/** Planning takes longer than such a statement; and each has one plan that is right for all values. */
const ONE_PLAN = '-c plan_cache_mode=force_generic_plan';

interface Pipeline {
  connection: PostgresConnection;
  /** Resolves when the connection is open (true) or has failed (false). */
  opening: Promise<boolean> | null;
  /** Statements without an answer. */
  waiting: number;
  /** Statements that were sent since the process last looked at its sockets go out together. */
  corked: boolean;
}

/**
 * Short statements that share a few connections in PostgreSQL's pipeline mode: one does not wait for the answer to the one
 * before it, and those of requests that arrive together go in one packet. Each is a transaction of its own.
 */
export class Pipelines {
  readonly #watch: ServerWatch;
  readonly #config: pg.ClientConfig;
  readonly #connections: number;
  readonly #repeatable: boolean;
  readonly #pipelines = new Set<Pipeline>();

  /** `connections`: at most. `repeatable`: doing a statement twice does no harm. */
  constructor(
    watch: ServerWatch,
    config: pg.ClientConfig,
    { connections, repeatable }: { connections: number; repeatable: boolean },
  ) {
    this.#watch = watch;
    const options = `${config.options ?? ''} ${ONE_PLAN}`;
    this.#config = { ...config, options, statement_timeout: SHORT_MS, pipeline: true };
    this.#connections = connections;
    this.#repeatable = repeatable;
  }

  /**
   * The rows of a statement; null when it is to be sent on a connection of its own, since it took too long here, or, where
   * that does no harm, since its connection was lost.
   */
  send(statement: string, values: readonly unknown[]): Promise<unknown[] | null> {
    return this.#send(async (connection) => (await connection.send(statement, values)).rows);
  }

  /** Like send, with each row as texts. */
  rows(statement: string, values: readonly unknown[]): Promise<Row[] | null> {
    return this.#send((connection) => connection.rows(statement, values));
  }

  close(): void {
    for (const pipeline of this.#pipelines) this.#cut(pipeline);
  }

  async #send<T>(ask: (connection: PostgresConnection) => Promise<T>): Promise<T | null> {
    if (this.#watch.isSilent) return null;
    const pipeline = this.#leastBusy();
    pipeline.waiting += 1;
    try {
      if (pipeline.opening && !(await pipeline.opening)) return null;
      cork(pipeline);
      return await ask(pipeline.connection);
    } catch (error) {
      if (this.#repeatable && !isOfStatement(error)) {
        // Statements behind it fail at once, and go elsewhere, too.
        this.#cut(pipeline);
        return null;
      }
      if (wasCancelled(error)) return null;
      // The stack shows the caller, rather than the reader of the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    } finally {
      pipeline.waiting -= 1;
    }
  }

  #leastBusy(): Pipeline {
    let least: Pipeline | undefined;
    for (const pipeline of this.#pipelines) {
      if (pipeline.connection.isFull) this.#retire(pipeline);
      else if (!least || pipeline.waiting < least.waiting) least = pipeline;
    }
    return least && (least.waiting === 0 || this.#pipelines.size >= this.#connections) ? least : this.#open();
  }

  #open(): Pipeline {
    const connection = new this.#watch.Client(this.#config);
    const pipeline: Pipeline = { connection, opening: null, waiting: 0, corked: false };
    const lost = () => this.#pipelines.delete(pipeline);
    connection.on('error', lost).once('end', lost);
    pipeline.opening = connection.connect().then(
      () => {
        pipeline.opening = null;
        return true;
      },
      () => false,
    );
    this.#pipelines.add(pipeline);
    return pipeline;
  }

  /** Ends a connection when its last statement has its answer. */
  #retire(pipeline: Pipeline): void {
    this.#pipelines.delete(pipeline);
    void pipeline.connection.end();
  }

  #cut(pipeline: Pipeline): void {
    this.#pipelines.delete(pipeline);
    pipeline.connection.socket.destroy();
  }
}

const codeOf = (error: unknown): string => (error instanceof pg.DatabaseError && error.code) || '';

/**
 * Whether the statement itself failed: not its connection, the server (53, 57, 58), a lock (55), or an earlier statement
 * that was to prepare it (26000).
 */
const isOfStatement = (error: unknown): boolean => /^(?!26000|5[3578])./.test(codeOf(error));

/** Whether the statement was undone or not begun. */
const wasCancelled = (error: unknown): boolean => ['57014', '55P03', '26000'].includes(codeOf(error));

function cork(pipeline: Pipeline): void {
  if (pipeline.corked) return;
  pipeline.corked = true;
  const { socket } = pipeline.connection;
  socket.cork();
  setImmediate(() => {
    pipeline.corked = false;
    socket.uncork();
  });
}
