import { addAbortListener } from 'node:events';
import { PostgresDialect, type PostgresPool } from 'kysely';
import pg from 'pg';
import type { PostgresConnection } from './connection.ts';
import { GENERIC_PLAN_OPTION, READ_SESSION_OPTIONS, type SlowReadOptions, type TextRow } from './database.ts';
import type { ServerWatch } from './server-watch.ts';

/** The interval at which the server checks, during a statement, whether the client has left. */
const LEFT_MS = 250;

// Settings of a transaction are part of it, so that a pooler keeps them with its statements.

const BEGIN = `begin; set local ${GENERIC_PLAN_OPTION}`;

/** What Kysely is told when a transaction will begin. */
const BEGUN: pg.QueryResult = { command: 'BEGIN', rowCount: null, oid: 0, fields: [], rows: [] };

function beginReading(seconds: number): string {
  const bounds = [`statement_timeout=${seconds * 1000}`, `client_connection_check_interval=${LEFT_MS}`];
  return ['begin read only', ...[...bounds, ...READ_SESSION_OPTIONS].map((one) => `set local ${one}`)].join('; ');
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
    return new PostgresDialect({ pool: this as unknown as PostgresPool });
  }

  get usage(): { idle: number; used: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
  }

  async connect(): Promise<PooledConnection> {
    // A new connection would be waited for.
    if (this.#watch.isSilent) throw new Error('Connection terminated: the server is silent');
    return new PooledConnection((await this.#pool.connect()) as PoolConnection);
  }

  async send(statement: string, values: readonly unknown[]): Promise<unknown[]> {
    using connection = await this.connect();
    return (await connection.query(statement, values)).rows;
  }

  async rows(statement: string, values: readonly unknown[], { seconds, signal }: SlowReadOptions): Promise<TextRow[]> {
    using connection = await this.connect();
    signal?.throwIfAborted();
    using _leaving = signal && addAbortListener(signal, () => connection.destroy());
    connection.begin(beginReading(seconds));
    // After an error, `commit` rolls back.
    const [{ rows }] = await Promise.all([connection.query(statement, values, true), connection.query('commit')]);
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
  #begin = '';

  constructor(connection: PoolConnection) {
    this.#connection = connection;
    connection.once('end', this.#release);
  }

  /** Begins a transaction with the next statement, in one packet. */
  begin(statement: string): pg.QueryResult {
    this.#begin = statement;
    return BEGUN;
  }

  async query(sql: string, values?: readonly unknown[], asTexts = false): Promise<pg.QueryResult> {
    if (sql === 'begin') return this.begin(BEGIN);
    const begin = this.#begin;
    this.#begin = '';
    if (!begin) return this.#connection.send(sql, values, asTexts);
    this.#connection.cork();
    const both = [this.#connection.send(begin), this.#connection.send(sql, values, asTexts)] as const;
    return (await Promise.all(both))[1];
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
