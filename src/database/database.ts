import type { MikroORM } from '@mikro-orm/postgresql';

/** Receives messages for operators: of slow work, and of servers that are lost and come back. */
export type TellOperator = (message: string) => void;

/** The values of a row as PostgreSQL writes them, in the order of its columns. */
export type TextRow = readonly (string | null)[];

/** Why the process cannot start: its message is all that an operator sees. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface ShortReadOptions {
  /** Gives rows as TextRow. */
  asTexts?: boolean;
  /** Others would wait behind it: it goes by the connection of large pages. */
  isLargePage?: boolean;
}

export interface SlowReadOptions {
  newest: boolean;
  asTexts: boolean;
  seconds: number;
  signal: AbortSignal | undefined;
}

/** Compares indexes with their tables. */
export interface IndexCheck {
  /** The indexes that can be compared in a moment. */
  names(): Promise<string[]>;
  /** Rebuilds an index that does not have every row, and tells the operator; gives whether it did. */
  mend(name: string): Promise<boolean>;
}

export interface Database {
  readonly orm: MikroORM;
  readonly kind: 'embedded' | 'postgresql';
  /** Calls back for each notification on the channel until the returned function is called; with '' after a gap. */
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => void>;
  /**
   * Notifies listeners after the commit of an open transaction: in this process at once, in others soon. A long
   * payload, or one of too many, arrives there as '' (docs/decisions/events.md).
   */
  notify(channel: string, payload: string): void;
  /** Applies pending migrations, one process at a time, each in its own transaction; gives their names. */
  migrate(tell?: TellOperator): Promise<string[]>;
  pendingMigrations(): Promise<string[]>;
  /** Runs a statement outside of transactions on the primary's pool; gives its rows. */
  send(statement: string, values: readonly unknown[]): Promise<unknown[]>;
  /** A short read on shared connections (docs/decisions/connections.md), of a replica if any. null: not short. */
  read(statement: string, values: readonly unknown[], how?: ShortReadOptions): Promise<unknown[] | null>;
  /** A read on a connection of its own, for so many seconds at most; PostgreSQL stops when the signal aborts. */
  slowRead(statement: string, values: readonly unknown[], how: SlowReadOptions): Promise<unknown[]>;
  /** A short addition on shared connections to the primary. null: nothing was done, after 20 ms at a lock or 500 ms. */
  add(statement: string, values: readonly unknown[]): Promise<unknown[] | null>;
  /** The use of this process's pool, if it has one, whether the server takes no changes, and how many replicas cannot be reached. */
  connections?(): { idle: number; used: number; waiting: number; isReadOnly: boolean; lostReplicas: number };
  /** Of the embedded database; those of a server are its operator's. */
  readonly indexes?: IndexCheck;
  /** Why this process cannot serve: no answer in 5 seconds, no changes taken, a missing migration, or a newer version's; else null. */
  unready(): Promise<string | null>;
  /** Has the database answer on each kind of connection; rejects if it does not, or takes no changes. */
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

/** The settings of the database. */
export interface DatabaseConfig {
  DATABASE_URL?: string | undefined;
  DATABASE_DIRECT_URL?: string | undefined;
  DATABASE_READ_URLS: readonly string[];
  DATA_DIR: string;
}
