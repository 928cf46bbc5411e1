import { addAbortListener } from 'node:events';
import { CompiledQuery, type DatabaseConnection, PostgresDialect, PostgresDriver, type PostgresPool } from 'kysely';
import pg from 'pg';
import type { SlowReadOptions } from './database.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import type { ServerWatch } from './server-watch.ts';
import { GENERIC_PLAN, READ_SETTINGS } from './session.ts';
import { faultOf } from './sqlstate.ts';

/** The interval at which the server checks, during a statement, whether the client has left. */
const LEFT_MS = 250;

// Settings of a transaction are part of it, so that a pooler keeps them with its statements.

const beginning = (begin: string, settings: Record<string, string>): string =>
  [begin, ...Object.entries(settings).map(([name, value]) => `set local ${name} = '${value}'`)].join('; ');

const BEGIN = beginning('begin', GENERIC_PLAN);

function beginReading(seconds: number): string {
  const bounds = { statement_timeout: `${seconds * 1000}`, client_connection_check_interval: `${LEFT_MS}` };
  return beginning('begin read only', { ...bounds, ...READ_SETTINGS });
}

class TransactionDriver extends PostgresDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(BEGIN));
  }
}

export class ServerPool {
  readonly #pool: pg.Pool;
  readonly #watch: ServerWatch;

  constructor(watch: ServerWatch, config: pg.PoolConfig) {
    this.#watch = watch;
    this.#pool = new pg.Pool({ ...config, Client: watch.Client as unknown as new () => pg.ClientBase });
    // An idle connection was lost; the pool has thrown it away already.
    this.#pool.on('error', () => {});
  }

  get dialect(): PostgresDialect {
    const config = { pool: this as unknown as PostgresPool };
    return Object.assign(new PostgresDialect(config), { createDriver: () => new TransactionDriver(config) });
  }

  get usage(): { idle: number; used: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
  }

  async connect(): Promise<PooledConnection> {
    // A new connection would be waited for.
    if (this.#watch.isSilent) throw new Error('Connection terminated: the server is silent');
    for (;;) {
      const connection = new PooledConnection((await this.#pool.connect()) as PoolConnection);
      if (!connection.isSpent) return connection;
      connection.release();
    }
  }

  /** Sends a statement, a second time where a fault of the connection kept the first from doing anything. */
  async send(statement: string, values: readonly unknown[], isRepeated = false): Promise<unknown[]> {
    using connection = await this.connect();
    try {
      return (await connection.query(statement, values)).rows;
    } catch (error) {
      if (isRepeated || !connection.isSpent || !faultOf(error)?.undone) throw error;
    }
    connection.release();
    return this.send(statement, values, true);
  }

  async read(statement: string, values: readonly unknown[], how: SlowReadOptions): Promise<unknown[]> {
    const { asTexts, seconds, signal } = how;
    using connection = await this.connect();
    signal?.throwIfAborted();
    using _leaving = signal && addAbortListener(signal, () => connection.destroy());
    connection.cork();
    // Writes need the answer to their `begin`: if it were cancelled, they would run without a transaction.
    const [, { rows }] = await Promise.all([
      connection.query(beginReading(seconds)),
      connection.query(statement, values, asTexts),
      // After an error, it rolls back.
      connection.query('commit'),
    ]);
    return rows;
  }

  async end(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }
}

type PoolConnection = PostgresConnection & pg.PoolClient;

/** A connection in use. A lost one returns by itself: Kysely would keep it when its begin or rollback fails. */
class PooledConnection implements Disposable {
  readonly #connection: PoolConnection;
  readonly #release = () => this.release();
  #isReleased = false;

  constructor(connection: PoolConnection) {
    this.#connection = connection;
    connection.once('end', this.#release);
  }

  query(sql: string, values?: readonly unknown[], asTexts = false): Promise<pg.QueryResult> {
    return this.#connection.send(sql, values, asTexts);
  }

  get isSpent(): boolean {
    return this.#connection.isSpent;
  }

  cork(): void {
    this.#connection.cork();
  }

  /** Gives it up, with what runs on it. */
  destroy(): void {
    this.#connection.socket.destroy();
    this.release();
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#connection.off('end', this.#release);
    this.#connection.release(this.#connection.isSpent);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
