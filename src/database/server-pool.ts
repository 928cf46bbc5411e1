import { PostgresDialect, type PostgresPool } from 'kysely';
import pg from 'pg';
import type { PostgresConnection } from './connection.ts';
import type { Row, SlowRead } from './database.ts';
import type { ServerWatch } from './server-watch.ts';

/** How often the server looks, while it works, whether the connection was given up. */
const LEFT_MS = 250;

/** A pool of connections to a server, for Kysely and for statements of our own. */
export class ServerPool {
  /** The statement that is sent for Kysely's `begin`. */
  begin = 'begin';
  /** Settings for statements that only read, and may take long. */
  readingSettings: readonly string[] = [];
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

  async rows(statement: string, values: readonly unknown[], { seconds, signal }: SlowRead): Promise<Row[]> {
    const connection = await this.connect();
    const leave = () => connection.destroy();
    try {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', leave);
      await connection.query(this.#beginReading(seconds));
      const rows = await connection.rows(statement, values);
      await connection.query('commit');
      return rows;
    } catch (error) {
      if (!signal?.aborted) await connection.query('rollback').catch(() => {});
      throw error;
    } finally {
      signal?.removeEventListener('abort', leave);
      connection.release();
    }
  }

  /** In a transaction, so that a pooler keeps the settings with the statement. */
  #beginReading(seconds: number): string {
    const own = [`statement_timeout=${seconds * 1000}`, `client_connection_check_interval=${LEFT_MS}`];
    const settings = [...own, ...this.readingSettings].map((setting) => `set local ${setting}`);
    return `begin read only; ${settings.join('; ')}`;
  }

  async end(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }
}

type PoolConnection = PostgresConnection & pg.PoolClient;

/**
 * A connection while it is somebody's. One that is lost goes back by itself: Kysely keeps it when its begin or rollback
 * fails, so the pool would shrink with every connection that is lost in a transaction.
 */
class PooledConnection {
  readonly #connection: PoolConnection;
  readonly #begin: string;
  readonly #lost = () => this.#giveBack(true);
  #released = false;
  #isEnding = false;

  constructor(connection: PoolConnection, begin: string) {
    this.#connection = connection;
    this.#begin = begin;
    connection.once('end', this.#lost);
  }

  query(sql: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
    return this.#watched(this.#connection.send(sql === 'begin' ? this.#begin : sql, values));
  }

  rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#watched(this.#connection.rows(sql, values));
  }

  release(): void {
    this.#giveBack(this.#isEnding || this.#connection.isFull);
  }

  /** The server says that it ends a connection before it does: nobody else is to get it in between. */
  #watched<T>(asked: Promise<T>): Promise<T> {
    return asked.catch((error) => {
      if (/^57P/.test(error.code ?? '57P')) this.#isEnding = true;
      throw error;
    });
  }

  /** Gives it up, with what runs on it. */
  destroy(): void {
    this.#connection.socket.destroy();
    this.#giveBack(true);
  }

  #giveBack(isOver: boolean): void {
    if (this.#released) return;
    this.#released = true;
    this.#connection.off('end', this.#lost);
    this.#connection.release(isOver);
  }
}
