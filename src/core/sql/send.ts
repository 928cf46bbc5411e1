import { TransactionContext } from '@mikro-orm/core';
import { CompiledQuery, type InsertResult } from 'kysely';
import type { Row } from '../../database/database.ts';
import { Shares } from '../../fairness/shares.ts';
import { type Context, renewed } from '../context.ts';
import { CostExceeded, RateLimited, Unavailable } from '../errors.ts';
import { PAGE_MAX } from './page-size.ts';
import type { Prepared, Send } from './prepare.ts';

// Where statements go. Inside the open transaction all of them belong to it.

/** Of the ten connections of a pool; the others are for changes, jobs and whoever asks whether the process is ready. */
const SLOW_READS = { capacity: 6, reserve: 2 };
export const openSlowReads = (): Shares => new Shares(SLOW_READS);

/** The primary. */
export const onPrimary = (ctx: Context): Send => inTransaction(ctx) ?? ctx.services.database.send;

/** For what looks at rows until it finds enough, or counts them. */
export const ALL_ROWS = Number.POSITIVE_INFINITY;

/**
 * A replica if there is one, else the primary. `rows` is how many are read at most: short reads share a few connections,
 * and what may be more than a page gets one of its own.
 */
export const onReplica = (ctx: Context, rows = 1): Send =>
  inTransaction(ctx) ?? (rows > PAGE_MAX ? ofPool(ctx) : ctx.services.database.read);

const ofPool =
  (ctx: Context): Send =>
  (text, values) =>
    ctx.services.database.send(text, values, { replica: true });

/** The primary; on the connections for short reads where these go there. */
export const onNewest = (ctx: Context, rows = 1): Send =>
  ctx.services.config.DATABASE_READ_URLS.length > 0 ? onPrimary(ctx) : onReplica(ctx, rows);

/**
 * Reads rows of texts, where onReplica or, for the `newest`, onNewest sends their statement; `most` is how many are read at most.
 */
export async function readTexts(
  ctx: Context,
  text: string,
  values: readonly unknown[],
  { most, newest }: { most: number; newest: boolean },
): Promise<readonly Row[]> {
  const send = inTransaction(ctx);
  if (send) {
    const rows = (await send(text, values)) as Record<string, string | null>[];
    return rows.map((row) => Object.values(row));
  }
  return readRows(ctx, text, values, { long: most > PAGE_MAX, newest });
}

/** Reads rows of texts, outside of transactions; what is `long`, or turns out to be, has a place among its company's. */
export async function readRows(
  ctx: Context,
  text: string,
  values: readonly unknown[],
  { long = false, newest = false } = {},
): Promise<readonly Row[]> {
  const short = long ? null : await ctx.services.database.rows(text, values, { newest });
  return short ?? readSlowly(ctx, text, values, newest);
}

/** Of one company, beside those that have a place. */
const MOST_WAITING = 10;

async function readSlowly(ctx: Context, text: string, values: readonly unknown[], newest: boolean) {
  const { database, slowReads, config } = ctx.services;
  const { LIMIT_STATEMENT_SECONDS: seconds } = config;
  const holder = ctx.caller?.company ?? '';
  if (slowReads.held(holder) >= SLOW_READS.capacity + MOST_WAITING) throw new RateLimited(seconds, TOO_MANY);
  const signal = ctx.left?.();
  try {
    return await slowReads.run(holder, () => database.slowRows(text, values, { newest, seconds, signal }));
  } catch (error) {
    if (signal?.aborted) throw new Unavailable('The client has left.', undefined, { cause: error });
    if ((error as { code?: unknown }).code !== STATEMENT_TIMEOUT) throw error;
    throw new CostExceeded(
      `Reading this took longer than ${seconds} s: ask for fewer rows, filter by a fleet or a status, or leave out counts.`,
      { cause: error },
    );
  }
}

const STATEMENT_TIMEOUT = '57014';
const TOO_MANY = 'Too many slow reads of this company are under way. Try again when some have ended.';

/** The primary, on shared connections: for short statements that add rows. Those that wait for others go on elsewhere. */
export const append = (ctx: Context): Send => inTransaction(ctx) ?? ctx.services.database.add;

export const isInTransaction = (): boolean => TransactionContext.currentTransactionContext() !== undefined;

const inTransaction = (ctx: Context): Send | undefined => (isInTransaction() ? alone(ctx) : undefined);

/**
 * Does work that is one statement, so that an open transaction can go on after an error of it. Where none is open the statement
 * is a transaction by itself.
 */
export const savepoint = <T>(ctx: Context, work: () => Promise<T>): Promise<T> =>
  isInTransaction() ? ctx.em.transactional(work) : work();

/** By the unit of work's own connection. */
const alone =
  (ctx: Context): Send =>
  async (text, values) =>
    (await run(ctx, text, values)).rows;

const run = (ctx: Context, text: string, values: readonly unknown[]) =>
  ctx.em
    .getKysely()
    .getExecutor()
    .executeQuery(CompiledQuery.raw(text, [...values]));

/** Runs a statement that returns no rows in the open transaction, and gives how many it wrote. */
export async function countWritten<P>(ctx: Context, statement: Prepared<P, InsertResult>, given: P): Promise<number> {
  let written = 0n;
  await statement(async (text, values) => {
    const { rows, numAffectedRows = 0n } = await run(ctx, text, values);
    written = numAffectedRows;
    return rows;
  }, given);
  return Number(written);
}

const MOST_TRIES = 3;

/** Thrown where another has changed what the work went by: it begins again. */
export class ChangedMeanwhile extends Error {}

/** Does `work` in a transaction, and again from the beginning after a deadlock, and after ChangedMeanwhile. */
export async function againAfterDeadlock<T>(ctx: Context, work: (ctx: Context) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    // An entity manager of its own each time: the one before has changes of what was rolled back.
    const own = renewed(ctx);
    try {
      return await own.em.transactional(() => work(own));
    } catch (error) {
      const deadlock = error instanceof Error && 'code' in error && error.code === '40P01';
      // Each change is another's success, so there is an end to them.
      if (error instanceof ChangedMeanwhile) continue;
      if (!deadlock || tries === MOST_TRIES) throw error;
    }
  }
}
