import { PostgresDialect, type PostgresPool } from 'kysely';
import pg from 'pg';
import type { Connection } from './connection.ts';
import type { Row } from './database.ts';
import type { ServerWatch } from './server-watch.ts';

/** A pool of connections to a server, for Kysely and for statements of our own. */
export class ServerPool {
  /** The statement that is sent for Kysely's `begin`. */
  begin = 'begin';
  /** The statement before one that only reads, and may take long. */
  beginReading = 'begin read only';
  readonly #pool: pg.Pool;
  readonly #watch: ServerWatch;

  constructor(watch: ServerWatch, config: pg.PoolConfig) {
    this.#watch = watch;
    this.#pool = new pg.Pool({ ...config, Client: watch.Client as unknown as new () => pg.ClientBase });
    // An idle connection was lost; the pool has thrown it away already.
    this.#pool.on('error', () => {});
  }

  get dialect(): PostgresDialect {
    return new PostgresDialect({ pool: this as unknown as PostgresPool });
  }

  get usage(): { idle: number; used: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
  }

  async connect(): Promise<PooledConnection> {
    this.#watch.refuseWhileSilent();
    return new PooledConnection((await this.#pool.connect()) as PoolConnection, this.begin);
  }

  async send(statement: string, values: readonly unknown[]): Promise<unknown[]> {
    const connection = await this.connect();
    return connection
      .query(statement, values)
      .then(({ rows }) => rows)
      .finally(() => connection.release());
  }

  async rows(statement: string, values: readonly unknown[]): Promise<Row[]> {
    const connection = await this.connect();
    try {
      await connection.query(this.beginReading);
      const rows = await connection.rows(statement, values);
      await connection.query('commit');
      return rows;
    } catch (error) {
      await connection.query('rollback').catch(() => {});
      throw error;
    } finally {
      connection.release();
    }
  }

  async end(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }
}

type PoolConnection = Connection & pg.PoolClient;

/**
 * A connection while it is somebody's. One that is lost goes back by itself: Kysely keeps it when its begin or rollback
 * fails, so the pool would shrink with every connection that is lost in a transaction.
 */
class PooledConnection {
  readonly #connection: PoolConnection;
  readonly #begin: string;
  readonly #lost = () => this.#giveBack(true);
  #released = false;

  constructor(connection: PoolConnection, begin: string) {
    this.#connection = connection;
    this.#begin = begin;
    connection.once('end', this.#lost);
  }

  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
    return this.#connection.send(sql === 'begin' ? this.#begin : sql, values);
  }

  rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#connection.rows(sql, values);
  }

  release(): void {
    this.#giveBack(this.#connection.isFull);
  }

  #giveBack(isOver: boolean): void {
    if (this.#released) return;
    this.#released = true;
    this.#connection.off('end', this.#lost);
    this.#connection.release(isOver);
  }
}
