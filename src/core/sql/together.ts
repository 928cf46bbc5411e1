import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Context } from '../context.ts';
import { brokenRule } from '../database-errors.ts';
import { gathering } from '../gathering.ts';
import { madeIn } from './list-statement.ts';
import type { Send } from './prepare.ts';
import { append, isInTransaction } from './send.ts';

/** Rows of one statement, which is on a shared connection. */
const MOST_ROWS = 50;
/** Statements of a company: while one is being committed, the process makes the next. */
const AT_ONCE = 2;
/** One that is held up holds up those behind it for so long. */
const PATIENCE_MS = 25;

interface Queue<Row> {
  add: (row: Row) => Promise<void>;
  waiting: number;
}

/** The server has refused several rows, and undone the statement. */
class SomeRefused extends Error {}

/**
 * Adds a row with one statement for all that requests of a company add at a time: while two are under way, the next gather.
 * A statement and its commit cost much more than a row. Companies do not wait for each other. What `insert` cannot add
 * together it is given alone, so that a row fails for its own fault only.
 */
export function together<Row>(
  insert: (send: Send, company: string, rows: readonly Row[]) => Promise<unknown>,
): (ctx: Context, company: string, row: Row) => Promise<void> {
  const queues = new WeakMap<Database, Map<string, Queue<Row>>>();
  return async (ctx, company, row) => {
    if (isInTransaction()) {
      await insert(append(ctx), company, [row]);
      return;
    }
    const { database } = ctx.services;
    const send: Send = (text, values) => database.add(text, values);
    const ofCompanies = madeIn(queues, database, () => new Map<string, Queue<Row>>());
    const queue = madeIn(ofCompanies, company, () => ({
      add: gathering<Row>((rows) => addAll(rows, () => insert(send, company, rows)), {
        most: MOST_ROWS,
        pause: () => endOfTurn(),
        atOnce: AT_ONCE,
        patience: PATIENCE_MS,
      }),
      waiting: 0,
    }));
    queue.waiting += 1;
    try {
      await queue.add(row);
    } catch (error) {
      if (!(error instanceof SomeRefused)) throw error;
      await insert(send, company, [row]);
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) ofCompanies.delete(company);
    }
  };
}

async function addAll(rows: readonly unknown[], add: () => Promise<unknown>): Promise<void> {
  try {
    await add();
  } catch (error) {
    throw rows.length > 1 && isRefused(error) ? new SomeRefused() : error;
  }
}

/** Whether the server refused values (SQLSTATE classes 22 and 23; Citus tells of a broken rule by its name alone). */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && (brokenRule(error) !== undefined || ('code' in error && /^2[23]/.test(String(error.code))));
