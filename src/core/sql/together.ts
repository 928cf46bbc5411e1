import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Context } from '../context.ts';
import { brokenRule } from '../database-errors.ts';
import { gathering } from '../gathering.ts';
import type { Send } from './prepare.ts';
import { append, isInTransaction } from './send.ts';

/** Rows of one statement, which is on a shared connection. */
const MOST_ROWS = 50;
/** A statement holds up those behind it for so long, which is about what it and its commit take. */
const PATIENCE_MS = 2;

interface Queue<Row> {
  add: (row: Row) => Promise<void>;
  waiting: number;
}

/**
 * Adds a row with one statement for all that requests of a company add at a time: while one is under way, the next gather.
 * A statement and its commit cost much more than a row. Companies do not wait for each other. What `insert` cannot add
 * together it is given alone, so that a row fails for its own fault only.
 */
export function together<Row extends { company: string }>(
  insert: (send: Send, company: string, rows: readonly Row[]) => Promise<unknown>,
): (ctx: Context, row: Row) => Promise<void> {
  const queues = new WeakMap<Database, Map<string, Queue<Row>>>();
  return async (ctx, row) => {
    const { company } = row;
    const alone = async () => void (await insert(append(ctx), company, [row]));
    if (isInTransaction()) return alone();
    const ofCompanies = queues.get(ctx.services.database) ?? new Map<string, Queue<Row>>();
    queues.set(ctx.services.database, ofCompanies);
    const queue = ofCompanies.get(company) ?? {
      add: gathering<Row>(async (rows) => void (await insert(append(ctx), company, rows)), {
        most: MOST_ROWS,
        pause: () => endOfTurn(),
        patience: PATIENCE_MS,
      }),
      waiting: 0,
    };
    ofCompanies.set(company, queue);
    queue.waiting += 1;
    try {
      await queue.add(row);
    } catch (error) {
      if (!isRefused(error)) throw error;
      await alone();
    } finally {
      queue.waiting -= 1;
      if (queue.waiting === 0) ofCompanies.delete(company);
    }
  };
}

/** Whether the server refused values (SQLSTATE classes 22 and 23, which Citus does not tell of all), so that it has undone the statement. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && (brokenRule(error) !== undefined || ('code' in error && /^2[23]/.test(String(error.code))));
