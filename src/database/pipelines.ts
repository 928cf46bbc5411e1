import type { Socket } from 'node:net';
import pg from 'pg';
import type { PostgresConnection } from './connection.ts';
import type { ServerWatch } from './server-watch.ts';

/** A statement that takes longer is not short, or waits for a lock. */
const SHORT_MS = 500;

/** `connections`: at most. `repeatable`: doing a statement twice does no harm. */
type PipelineOptions = { connections: number; repeatable: boolean };

/** Short statements that share connections in pipeline mode: those of one moment go in one packet. */
export class StatementPipelines {
  readonly #watch: ServerWatch;
  readonly #config: pg.ClientConfig;
  readonly #most: number;
  readonly #repeatable: boolean;
  readonly #connections = new Set<PostgresConnection>();

  constructor(watch: ServerWatch, config: pg.ClientConfig, { connections, repeatable }: PipelineOptions) {
    this.#watch = watch;
    this.#config = { ...config, statement_timeout: SHORT_MS, pipeline: true };
    this.#most = connections;
    this.#repeatable = repeatable;
  }

  /** The rows; null where the statement needs its own connection: it is slow, or repeatable and this one was lost. */
  async send(statement: string, values: readonly unknown[], asTexts = false): Promise<unknown[] | null> {
    if (this.#watch.isSilent) return null;
    const connection = this.#leastBusy();
    cork(connection.socket);
    try {
      return (await connection.send(statement, values, asTexts)).rows;
    } catch (error) {
      const isUnsent = !connection.isConnected;
      if (isUnsent || (this.#repeatable && !isOfStatement(error))) {
        // Statements behind a slow one would wait as long for each other slow one: they fail at once, and go elsewhere.
        this.#cut(connection);
        return null;
      }
      if (wasCancelled(error)) return null;
      // The stack shows the caller, rather than the reader of the socket.
      if (error instanceof Error) Error.captureStackTrace(error);
      throw error;
    }
  }

  close(): void {
    for (const connection of this.#connections) this.#cut(connection);
  }

  #leastBusy(): PostgresConnection {
    let least: PostgresConnection | undefined;
    for (const connection of this.#connections) {
      if (connection.isSpent) this.#retire(connection);
      else if (!least || connection.waiting < least.waiting) least = connection;
    }
    return least && (least.waiting === 0 || this.#connections.size >= this.#most) ? least : this.#open();
  }

  /** Statements wait in it until it is connected. */
  #open(): PostgresConnection {
    const connection = new this.#watch.Client(this.#config);
    const lost = () => this.#connections.delete(connection);
    connection.on('error', lost).once('end', lost);
    connection.connect().catch(() => {});
    this.#connections.add(connection);
    return connection;
  }

  /** Ends a connection when its last statement has its answer. */
  #retire(connection: PostgresConnection): void {
    this.#connections.delete(connection);
    void connection.end();
  }

  #cut(connection: PostgresConnection): void {
    this.#connections.delete(connection);
    connection.socket.destroy();
  }
}

const codeOf = (error: unknown): string => (error instanceof pg.DatabaseError && error.code) || '';

/** Whether the statement failed, not a connection, the server (53, 57, 58), a lock (55) or a preparation (26000). */
const isOfStatement = (error: unknown): boolean => /^(?!26000|5[3578])./.test(codeOf(error));

/** Whether the statement was undone or not begun. */
const wasCancelled = (error: unknown): boolean => ['57014', '55P03', '26000'].includes(codeOf(error));

/** Statements of one turn of the event loop go out together. */
function cork(socket: Socket): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  setImmediate(() => socket.uncork());
}
