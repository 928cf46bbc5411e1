import { TransactionContext } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/sql';
import { CompiledQuery } from 'kysely';
import type { TextRow } from '../../database/database.ts';
import type { SharedPlaces } from '../../fairness/shares.ts';
import { type Context, contextOfSharedRead, renewContext } from '../context.ts';
import { CostExceeded, RateLimited, Unavailable } from '../errors.ts';

// Chooses the connection of a statement; in an open transaction always the transaction's.

/** Sends a statement with its values and gives its rows. */
export type SendStatement = (text: string, values: readonly unknown[]) => Promise<unknown[]>;

const MOST_WAITING = 1000;

/**
 * Runs work in its company's turn, outside requests at once. Throws RateLimited after `patience` seconds, and Unavailable when
 * the client has left.
 */
async function inTurn<T>(ctx: Context, shares: SharedPlaces, work: () => Promise<T>, patience?: number): Promise<T> {
  const { caller, left, services } = ctx;
  if (!left) return work();
  const seconds = services.config.LIMIT_STATEMENT_SECONDS;
  const holder = caller?.company ?? '';
  if (shares.held(holder) >= MOST_WAITING) throw new RateLimited(seconds, TOO_MANY);
  const waitEnds = () => AbortSignal.any([left(), AbortSignal.timeout((patience ?? seconds) * 1000)]);
  let began = false;
  const begin = () => {
    began = true;
    return work();
  };
  try {
    return await shares.run(holder, begin, waitEnds);
  } catch (error) {
    if (began) throw error;
    throw left().aborted ? clientHasLeft(error) : new RateLimited(seconds, TOO_MANY);
  }
}

const TOO_MANY = 'Too much of this company is under way. Try again when some of it has ended.';
const clientHasLeft = (cause: unknown) => new Unavailable('The client has left.', undefined, { cause });

/** Work on more rows than this is large: each of its steps holds the event loop for milliseconds. */
const LARGE_ROWS = 200;

/** Seconds that large work waits for its turn. */
const LARGE_PATIENCE = 30;

type LargeWork = keyof Context['services']['large'];

/** Runs large work: at once if its company is alone, else in the company's turn. */
function inLargeTurn<T>(ctx: Context, kind: LargeWork, work: () => Promise<T>): Promise<T> {
  const { large, turns } = ctx.services;
  return turns.isAlone(ctx.caller?.company ?? '') ? work() : inTurn(ctx, large[kind], work, LARGE_PATIENCE);
}

/** Makes a change of so many items, in the company's turn if it is large. */
export const runChangeInTurn = <T>(ctx: Context, items: number, work: () => Promise<T>): Promise<T> =>
  items > LARGE_ROWS ? inLargeTurn(ctx, 'change', work) : work();

const onPool =
  (ctx: Context): SendStatement =>
  (text, values) =>
    inTurn(ctx, ctx.services.places, () => ctx.services.database.send(text, values));

export const primarySender = (ctx: Context): SendStatement => inTransaction(ctx) ?? onPool(ctx);

/** Additions of a company on shared connections: each may wait for a lock there for a moment, and others behind it. */
const MOST_ADDITIONS = 32;

/** The primary on shared connections, for short statements that add rows and seldom wait for a lock. */
export const appendSender = (ctx: Context): SendStatement =>
  inTransaction(ctx) ??
  shared(ctx, async (text, values) => {
    const { additions, database } = ctx.services;
    const leave = additions.take(ctx.caller?.company ?? '', MOST_ADDITIONS);
    return leave && database.add(text, values).finally(leave);
  });

/** The primary; for short reads its shared connections of reads, if there is no replica. */
export const newestReadSender = (ctx: Context): SendStatement =>
  hasReplicas(ctx) ? primarySender(ctx) : readSender(ctx);

/** Runs a statement for many keys as short ones, between which statements of others have their turn. */
export async function byKeys<Key, Row>(keys: readonly Key[], run: (keys: readonly Key[]) => Promise<Row[]>) {
  const rows: Row[] = [];
  for (let at = 0; at < keys.length; at += LARGE_ROWS) rows.push(...(await run(keys.slice(at, at + LARGE_ROWS))));
  return rows;
}

/** A replica if there is one, else the primary; for short reads. */
export const readSender = (ctx: Context): SendStatement =>
  inTransaction(ctx) ?? shared(ctx, ctx.services.database.read);

interface ReadOptions {
  /** The read may look at many rows: it is a search, and takes one of its company's places. */
  long?: boolean;
  /** The most rows of its answer. */
  rows?: number;
  newest?: boolean | undefined;
  /** Several clients wait for it: it does not wait for the turn of one of them, nor end when one leaves. */
  isShared?: boolean;
}

const hasReplicas = ({ services }: Context): boolean => services.config.DATABASE_READ_URLS.length > 0;

const shared =
  (ctx: Context, short: (...statement: Parameters<SendStatement>) => Promise<unknown[] | null>): SendStatement =>
  async (text, values) =>
    (await short(text, values)) ?? onPool(ctx)(text, values);

/** Reads rows of texts (in a transaction, of values), in the company's turn if they are many. */
export async function readRows(ctx: Context, text: string, values: readonly unknown[], options: ReadOptions = {}) {
  const { long = false, rows = 1, newest = false, isShared = false } = options;
  const send = inTransaction(ctx);
  // A transaction holds a connection, which large work may wait for: it takes no turn.
  if (send)
    return (await send(text, values)).map((row): TextRow => Object.values(row as Record<string, string | null>));
  const slowly = () => readSlowly(isShared ? contextOfSharedRead(ctx) : ctx, text, values, newest);
  const search = () => (isShared ? slowly() : inLargeTurn(ctx, 'search', slowly));
  if (long) return search();
  const read = async () =>
    // A read that proves to be slow is a search, too.
    newest && hasReplicas(ctx) ? slowly() : ((await ctx.services.database.rows(text, values)) ?? search());
  return isShared || rows <= LARGE_ROWS ? read() : inLargeTurn(ctx, 'page', read);
}

async function readSlowly(ctx: Context, text: string, values: readonly unknown[], newest: boolean) {
  const { database, config, places } = ctx.services;
  const { LIMIT_STATEMENT_SECONDS: seconds } = config;
  const signal = ctx.left?.();
  try {
    return await inTurn(ctx, places, () => database.slowRows(text, values, { newest, seconds, signal }));
  } catch (error) {
    if (signal?.aborted) throw clientHasLeft(error);
    if ((error as { code?: unknown }).code !== STATEMENT_TIMEOUT) throw error;
    throw new CostExceeded(
      `Reading this took longer than ${seconds} s: ask for fewer rows, filter by a fleet or a status, or leave out counts.`,
      { cause: error },
    );
  }
}

const STATEMENT_TIMEOUT = '57014';

export const isInTransaction = (): boolean => TransactionContext.currentTransactionContext() !== undefined;

const inTransaction = (ctx: Context): SendStatement | undefined =>
  isInTransaction() ? async (text, values) => (await run(ctx, text, values)).rows : undefined;

/** Does `work` in a transaction of the unit of work, in its company's turn; in a transaction, after a savepoint. */
export const runInTransaction = <T>(ctx: Context, work: (em: EntityManager) => Promise<T>): Promise<T> =>
  isInTransaction()
    ? ctx.em.transactional(work)
    : inTurn(ctx, ctx.services.places, () => ctx.services.database.transaction(ctx.em, work));

/** Does work of one statement, after whose error an open transaction can go on. */
export const runInSavepoint = <T>(ctx: Context, work: () => Promise<T>): Promise<T> =>
  isInTransaction() ? ctx.em.transactional(work) : work();

const run = (ctx: Context, text: string, values: readonly unknown[]) =>
  ctx.em
    .getKysely()
    .getExecutor()
    .executeQuery(CompiledQuery.raw(text, [...values]));

/** Runs a statement that returns no rows in the open transaction, and gives how many it wrote. */
export async function countWrittenRows<P>(ctx: Context, write: (send: SendStatement, values: P) => unknown, values: P) {
  let written = 0n;
  await write(async (text, values) => {
    const { rows, numAffectedRows = 0n } = await run(ctx, text, values);
    written = numAffectedRows;
    return rows;
  }, values);
  return Number(written);
}

const MOST_TRIES = 3;

/** Another transaction changed the rows that this one relied on; retryOnDeadlock repeats the work. */
export class ChangedMeanwhile extends Error {}

/** Does `work` in a transaction, and again from the beginning after a deadlock, and after ChangedMeanwhile. */
export async function retryOnDeadlock<T>(ctx: Context, work: (ctx: Context) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    // Each attempt has a new entity manager, since the last one holds changes that were rolled back.
    const own = renewContext(ctx);
    try {
      return await runInTransaction(own, () => work(own));
    } catch (error) {
      const deadlock = error instanceof Error && 'code' in error && error.code === '40P01';
      // Every repetition means that another transaction succeeded, so repetitions end.
      if (error instanceof ChangedMeanwhile) continue;
      if (!deadlock || tries === MOST_TRIES) throw error;
    }
  }
}
