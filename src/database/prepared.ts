import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import type { Row } from './database.ts';
import { traceStatement } from './traced-statement.ts';

/**
 * The names of statements that connections prepare. The service has a few hundred texts of its own; clients of GraphQL
 * make others by the shapes of their queries. Each costs a connection of the server some 30 kB, so a text is named when it
 * comes for the third time, and loses its name when this many others were used after it.
 */
const MOST_NAMES = 300;
/** Texts that have come once or twice. */
const MOST_NEW = 300;
const USES_UNNAMED = 2;

class Names {
  /** Those that a connection may keep. */
  readonly live = new Set<string>();
  readonly #names = new LRUCache<string, string>({ max: MOST_NAMES, dispose: (name) => this.live.delete(name) });
  readonly #uses = new LRUCache<string, number>({ max: MOST_NEW });
  #count = 0;

  of(text: string): string | undefined {
    return this.#names.get(text) ?? this.#newName(text);
  }

  #newName(text: string): string | undefined {
    const uses = this.#uses.get(text) ?? 0;
    if (uses < USES_UNNAMED) {
      this.#uses.set(text, uses + 1);
      return undefined;
    }
    this.#uses.delete(text);
    const name = `s${this.#count++}`;
    this.#names.set(text, name);
    this.live.add(name);
    return name;
  }
}

const names = new Names();

const asText = (value: string) => value;
const asTexts = { getTypeParser: () => asText } as unknown as pg.CustomTypesConfig;

/** What pg keeps of its own protocol; it offers no way to close a statement. */
interface Wire {
  stream: Socket;
  parsedStatements: Record<string, string>;
  close(message: { type: 'S'; name: string }): void;
}

/**
 * A connection that prepares each statement once and then only names it, which saves the server parsing and, after a
 * few runs, planning it. MikroORM and Kysely send every statement as text with values.
 */
export class PreparingClient extends pg.Client {
  /** What is sent for `begin`. */
  begin = 'begin';

  /** The rows of a statement, all values as texts. */
  rows(text: string, values: readonly unknown[]): Promise<Row[]> {
    const name = names.of(text);
    if (name !== undefined) this.#makeRoom(name);
    const query = { text, values: values as unknown[], name, rowMode: 'array' as const, types: asTexts };
    const send = () => promised((done) => super.query(query, done)).then(({ rows }) => rows);
    return traceStatement(text, send) as Promise<Row[]>;
  }

  override query(...args: unknown[]): never {
    if (args[0] === 'begin') args[0] = this.begin;
    const [text, values] = args;
    // A text without values may hold several statements, which cannot be prepared.
    const name = typeof text === 'string' && Array.isArray(values) && values.length > 0 ? names.of(text) : undefined;
    if (name !== undefined) this.#makeRoom(name);
    const query = super.query as (...args: unknown[]) => never;
    // Of a plain object pg would make a copy first, by its descriptors.
    const named = () => Object.assign(new pg.Query(text as string, values as unknown[]), { name });
    const rest = name === undefined ? args : [named(), ...args.slice(2)];
    // A cursor, or a callback: those do not give a promise.
    if (typeof text !== 'string' || args.length > 2 || typeof values === 'function') return query.apply(this, rest);
    return traceStatement(text, () => promised((done) => query.apply(this, [...rest, done]))) as never;
  }

  /** Before another statement is prepared, closes those that have lost their names. Nobody waits for the server to agree. */
  #makeRoom(name: string): void {
    const wire = wireOf(this);
    if (wire.parsedStatements[name] !== undefined) return;
    for (const one of Object.keys(wire.parsedStatements)) {
      if (names.live.has(one)) continue;
      delete wire.parsedStatements[one];
      wire.close({ type: 'S', name: one });
    }
  }

  /**
   * How the pool takes the connection back, at most once. A connection that is lost in a transaction goes back by itself:
   * Kysely keeps it when its begin or rollback fails, so that the pool shrank with every one that was lost.
   */
  set release(toPool: (error?: Error | boolean) => void) {
    let released = false;
    this.#release = (error) => {
      if (released) return;
      released = true;
      this.off('end', lost);
      toPool(error);
    };
    const lost = () => this.#release?.(true);
    this.once('end', lost);
  }

  get release(): ((error?: Error | boolean) => void) | undefined {
    return this.#release;
  }

  #release: ((error?: Error | boolean) => void) | undefined;
}

/**
 * What is called back, as a promise. pg's own promises keep each result from being collected with the young objects: each
 * holds on to the one after it, so that all of them grow old together.
 */
function promised(
  send: (done: (error: Error | null, result: pg.QueryResult) => void) => void,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    send((error, result) => (error ? reject(error) : resolve(result)));
  });
}

/** The connection of a client; pg keeps it there, beside its types. */
const wireOf = (client: pg.Client): Wire => (client as unknown as { connection: Wire }).connection;
export const socketOf = (client: pg.Client): Socket => wireOf(client).stream;
