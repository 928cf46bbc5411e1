import type { Socket } from 'node:net';
import pg from 'pg';
import { traceStatement } from './traced-statement.ts';

/** More texts than this are not the service's own few; the rest goes unprepared. */
const MOST_STATEMENTS = 500;
const names = new Map<string, string>();

function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MOST_STATEMENTS) return known;
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}

/**
 * A connection that prepares each statement once and then only names it, which saves the server parsing and, after a
 * few runs, planning it. MikroORM and Kysely send every statement as text with values.
 */
export class PreparingClient extends pg.Client {
  override query(...args: unknown[]): never {
    const [text, values] = args;
    // A text without values may hold several statements, which cannot be prepared.
    const name = typeof text === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(text) : undefined;
    const query = super.query as (...args: unknown[]) => never;
    const rest = name === undefined ? args : [{ text, values, name }, ...args.slice(2)];
    // A cursor, or a callback: those do not give a promise.
    if (typeof text !== 'string' || args.length > 2 || typeof values === 'function') return query.apply(this, rest);
    return traceStatement(text, () => promised((done) => query.apply(this, [...rest, done]))) as never;
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
export const socketOf = (client: pg.Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
