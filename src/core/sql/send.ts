import { TransactionContext } from '@mikro-orm/core';
import { CompiledQuery, type InsertResult } from 'kysely';
import type { Row } from '../../database/database.ts';
import type { Context } from '../context.ts';
import { PAGE_MAX } from './page-size.ts';
import type { Prepared, Send } from './prepare.ts';

// Where statements go. Inside the open transaction all of them belong to it.

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
  return ctx.services.database.rows(text, values, { long: most > PAGE_MAX, newest });
}

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
