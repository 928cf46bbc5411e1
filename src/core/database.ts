import { TransactionContext } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/sql';
import { CompiledQuery } from 'kysely';
import type { TextRow } from '../database/database.ts';
import { faultOf } from '../database/sqlstate.ts';
import type { SharedPlaces } from '../fairness/shares.ts';
import type { Context } from './context.ts';
import { CostExceeded, RateLimited, Unavailable } from './errors.ts';

// What customers call often is one prepared statement (core/sql/sql.ts): a change goes by `write`, and commits by itself.
// What they read is one statement made of descriptions (core/sql/read.ts, answer.ts), and goes by `read`, `readPage` or `search`, by
// how many rows it may look at. Its context says whether a replica may answer.
// Steps that must hold together run in `transaction`, where every statement goes to its connection, whatever is asked.
// A rare command on a single row is a unit of work in one: `em.findOneOrFail`, `assign`, `create` or `remove`, and one flush.

/** Sends a statement with its values and gives its rows. */
export type SendStatement = (text: string, values: readonly unknown[]) => Promise<unknown[]>;

export interface WriteOptions {
  /** It adds few rows and seldom waits for a lock: it shares a connection, and goes to its own where it has to wait. */
  short?: boolean;
  /** It may fail, and an open transaction goes on: it is sent after a savepoint there. */
  mayFail?: boolean;
}

const MOST_WAITING = 1000;
const TOO_MANY = 'Too much of this company is under way. Try again when some of it has ended.';

const clientHasLeft = (cause: unknown) => new Unavailable('The client has left.', undefined, { cause });

/**
 * Runs work in its company's turn, outside requests at once. Throws RateLimited after `patience` seconds, and Unavailable when
 * the client has left.
 */
async function inTurn<T>(ctx: Context, shares: SharedPlaces, work: () => Promise<T>, patience?: number) {
  const { caller, left, services } = ctx;
  if (!left) return work();
  const seconds = services.config.LIMIT_STATEMENT_SECONDS;
  const holder = caller?.company ?? '';
  if (shares.held(holder) >= MOST_WAITING) throw new RateLimited(seconds, TOO_MANY);
  const waitEnds = () => ({ left: left(), ms: (patience ?? seconds) * 1000 });
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

/** Work on more rows than this is large: each of its steps holds the event loop for milliseconds. */
export const LARGE_ROWS = 200;

/** Seconds that large work waits for its turn. */
const LARGE_PATIENCE = 30;

type LargeWork = keyof Context['services']['fairness']['large'];

/** Runs large work: at once if it is shared, or its company is alone, else in the company's turn. */
function inLargeTurn<T>(ctx: Context, kind: LargeWork, work: () => Promise<T>): Promise<T> {
  const { large, turns } = ctx.services.fairness;
  const isAtOnce = ctx.reads === 'shared' || turns.isAlone(ctx.caller?.company ?? '');
  return isAtOnce ? work() : inTurn(ctx, large[kind], work, LARGE_PATIENCE);
}

/** Additions of a company on shared connections: each may wait for a lock there for a moment, and others behind it. */
const MOST_ADDITIONS = 32;

/** Sends a statement to the primary, in its company's turn, and gives its rows. */
export async function write(ctx: Context, text: string, values: readonly unknown[], how: WriteOptions = {}) {
  const { short = false, mayFail = false } = how;
  const inside = async () => (await sendInTransaction(ctx, text, values)).rows;
  if (isInTransaction()) return mayFail ? ctx.em.transactional(inside) : inside();
  return beyondFence(ctx, async () => {
    const { database, fairness } = ctx.services;
    const leave = short ? fairness.additions.take(ctx.caller?.company ?? '', MOST_ADDITIONS) : null;
    const added = leave && (await database.add(text, values).finally(leave));
    return added ?? inTurn(ctx, fairness.places, () => database.send(text, values));
  });
}

/** Sends a change of the open transaction that may write a million rows, and gives their number rather than them. */
export async function writeMany(ctx: Context, text: string, values: readonly unknown[]): Promise<number> {
  const { numAffectedRows = 0n } = await sendInTransaction(ctx, text, values);
  return Number(numAffectedRows);
}

/** A company that leaves this installation does so between its writes. Throws CompanyElsewhere, and Unavailable meanwhile. */
const beyondFence = <T>({ caller, services: { fence } }: Context, work: () => Promise<T>): Promise<T> =>
  fence ? fence.run(caller?.company ?? '', work) : work();

type Reading = { text: string; values: readonly unknown[]; asTexts: boolean; isLargePage?: boolean };

/** Makes a function that reads rows, as arrays of texts (in a transaction, of values) or as objects. */
const reading =
  (send: (ctx: Context, one: Reading) => Promise<unknown[]>) =>
  async <Row = TextRow>(ctx: Context, text: string, values: readonly unknown[], asObjects = false): Promise<Row[]> => {
    // A transaction holds a connection, which large work may wait for: it takes no turn.
    if (isInTransaction()) {
      const { rows } = await sendInTransaction(ctx, text, values);
      return (asObjects ? rows : rows.map((row) => Object.values(row as object))) as Row[];
    }
    if (ctx.caller) ctx.services.fence?.check(ctx.caller.company);
    return (await send(ctx, { text, values, asTexts: !asObjects })) as Row[];
  };

/** Reads few rows. */
export const read = reading(readQuickly);

/** Reads up to so many rows, in the company's turn if they are many. */
export const readPage = (ctx: Context, text: string, values: readonly unknown[], rows: number) =>
  rows <= LARGE_ROWS ? read(ctx, text, values) : readLargePage(ctx, text, values);

const readLargePage = reading((ctx, one) =>
  inLargeTurn(ctx, 'page', () => readQuickly(ctx, { ...one, isLargePage: true })),
);

/** Reads rows among many, in the company's turn. */
export const search = reading(searchInTurn);

function searchInTurn(ctx: Context, one: Reading) {
  return inLargeTurn(ctx, 'search', () => readSlowly(ctx, one));
}

/** A read that proves to be slow is a search, too. */
async function readQuickly(ctx: Context, one: Reading) {
  const { config, database } = ctx.services;
  if (ctx.reads && config.DATABASE_READ_URLS.length > 0) return readSlowly(ctx, one);
  return (await database.read(one.text, one.values, one)) ?? searchInTurn(ctx, one);
}

async function readSlowly(ctx: Context, { text, values, asTexts }: Reading) {
  const { database, config, fairness } = ctx.services;
  const { LIMIT_STATEMENT_SECONDS: seconds } = config;
  const signal = ctx.left?.();
  try {
    const how = { newest: ctx.reads !== undefined, asTexts, seconds, signal };
    return await inTurn(ctx, fairness.places, () => database.slowRead(text, values, how));
  } catch (error) {
    if (signal?.aborted) throw clientHasLeft(error);
    if (faultOf(error)?.is !== 'slow') throw error;
    throw new CostExceeded(
      `Reading this took longer than ${seconds} s: ask for fewer rows, filter by a fleet or a status, or leave out counts.`,
      { cause: error },
    );
  }
}

/** By MikroORM's context: what a transaction began belongs to it, also while it rolls back. */
const isInTransaction = (): boolean => TransactionContext.currentTransactionContext() !== undefined;

const sendInTransaction = (ctx: Context, text: string, values: readonly unknown[]) =>
  ctx.em
    .getKysely()
    .getExecutor()
    .executeQuery(CompiledQuery.raw(text, [...values]));

interface TransactionOptions<T> {
  /** Begins again after a conflict such as a deadlock, and after ChangedMeanwhile. */
  repeats?: boolean;
  /** A single statement that may do all of it, tried first where no transaction is open: one costs more. null: it did nothing. */
  atOnce?: () => Promise<T | null>;
}

const MOST_TRIES = 3;

/** Another transaction changed the rows that this one relied on; a transaction that `repeats` begins again. */
export class ChangedMeanwhile extends Error {}

/** Does `work` in a transaction of the unit of work, in its company's turn; in a transaction, after a savepoint. */
export async function transaction<T>(
  ctx: Context,
  work: (em: EntityManager) => Promise<T>,
  { repeats = false, atOnce }: TransactionOptions<T> = {},
): Promise<T> {
  const done = atOnce && !isInTransaction() ? await atOnce() : null;
  if (done !== null) return done;
  for (let tries = 1; ; tries++) {
    try {
      const attempt = () => ctx.em.transactional(work);
      const begun = () => inTurn(ctx, ctx.services.fairness.places, attempt);
      return await (isInTransaction() ? attempt() : beyondFence(ctx, begun));
    } catch (error) {
      // Every repetition means that another transaction succeeded, so repetitions end.
      if (repeats && error instanceof ChangedMeanwhile) continue;
      if (!repeats || faultOf(error)?.is !== 'conflict' || tries === MOST_TRIES) throw error;
    }
  }
}

/** Makes a change of so many items, in the company's turn if it is large. */
export const runChangeInTurn = <T>(ctx: Context, items: number, work: () => Promise<T>): Promise<T> =>
  items > LARGE_ROWS ? inLargeTurn(ctx, 'change', work) : work();

/** An answer of more objects than this is large where graphql-js makes it: each has promises. */
const LARGE_OBJECTS = 1000;

/** Makes an answer of at most so many objects, in the company's turn if it is large. */
export const runAnswerInTurn = <T>(ctx: Context, objects: number, work: () => Promise<T>): Promise<T> =>
  objects > LARGE_OBJECTS ? inLargeTurn(ctx, 'answer', work) : work();

/** Runs a statement for many keys as short ones, between which statements of others have their turn. */
export async function byKeys<Key, Row>(keys: readonly Key[], run: (keys: readonly Key[]) => Promise<Row[]>) {
  const rows: Row[] = [];
  for (let at = 0; at < keys.length; at += LARGE_ROWS) rows.push(...(await run(keys.slice(at, at + LARGE_ROWS))));
  return rows;
}
