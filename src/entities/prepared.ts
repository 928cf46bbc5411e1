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
    const rest = name === undefined ? args : [{ text, values, name }, ...args.slice(2)];
    const send = () => (super.query as (...args: unknown[]) => never).apply(this, rest);
    // Neither a cursor nor a callback: those do not give a promise.
    return typeof text === 'string' && args.length <= 2 ? (traceStatement(text, send) as never) : send();
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

/** The connection of a client; pg keeps it there, beside its types. */
export const socketOf = (client: pg.Client): Socket =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;
