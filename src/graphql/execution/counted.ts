import { setImmediate as nextTurn } from 'node:timers/promises';
import { defaultFieldResolver, type GraphQLSchema, getNamedType, isLeafType, isObjectType } from 'graphql';
import type { AnswerBudget, GraphqlContext, Resolver } from './context.ts';
import { Planned } from './reads.ts';

/** Quotes, colon, comma, and what a value that is no text takes. */
const PUNCTUATION = 6;
/** Characters that JSON escapes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
/** A list that is no longer is completed in one go: each item may have a hundred members. */
const SHORT = 250;
/** Items that are completed before anybody looks at the time. */
const BIT = 20;

/**
 * The same schema, with every field counting what it makes against the operation's budget. Lists are handed out in pieces
 * where they are long or the turn has been, so that no answer holds the event loop however many objects it has.
 */
export function counted(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    const isRootOfEvents = type === schema.getSubscriptionType();
    for (const field of Object.values(type.getFields())) {
      const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
      const made = isLeafType(getNamedType(field.type)) ? leafMade : objectMade;
      field.resolve = (source, args, context: GraphqlContext, info) => {
        const { budget } = context;
        if (isRootOfEvents) budget.renew();
        if (budget.domainError && made === objectMade) return Promise.reject(budget.domainError);
        const value =
          source instanceof Planned && field.args.length === 0
            ? source.take(info.path.key)
            : resolve(source, args, context, info);
        const own = String(info.path.key).length + PUNCTUATION;
        return value instanceof Promise ? value.then((one) => made(one, own, budget)) : made(value, own, budget);
      };
    }
  }
  return schema;
}

/** Rejects nothing itself: of a large object, each of its fields would make an error. */
function leafMade(value: unknown, own: number, budget: AnswerBudget): unknown {
  budget.spend(0, own + lengthOf(value, budget));
  return value;
}

function objectMade(value: unknown, own: number, budget: AnswerBudget): unknown {
  const objects = Array.isArray(value) ? value.length : value == null ? 0 : 1;
  const domainError = budget.spend(objects, own);
  if (domainError) return Promise.reject(domainError);
  const isLong = objects > SHORT || eventLoop.endOfLongTurn();
  if (!Array.isArray(value)) return isLong ? eventLoop.turnForMore().then(() => value) : value;
  // Where one item throws, graphql-js leaves the promises of those before it alone, and one of these that is rejected would
  // end the process; items that are promises cannot throw.
  return isLong ? paced(value, budget) : value.map((item) => Promise.resolve(item));
}

/** How long a value's text is; of numbers and the like, that of a short one. */
function lengthOf(value: unknown, budget: AnswerBudget): number {
  if (typeof value === 'string') return Buffer.byteLength(ESCAPED.test(value) ? JSON.stringify(value) : value);
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + lengthOf(one, budget) + 1, 0);
  const known = budget.lengths.get(value) ?? Buffer.byteLength(JSON.stringify(value));
  budget.lengths.set(value, known);
  return known;
}

/** A list whose items come bit by bit, with a turn for others wherever one has been long. */
function paced(items: readonly unknown[], budget: AnswerBudget): Promise<unknown>[] {
  let bit = Promise.resolve();
  return items.map((item, at) => {
    if (at % BIT === 0) bit = bit.then(() => eventLoop.turnForMore());
    return bit.then(() => (budget.domainError ? Promise.reject(budget.domainError) : item));
  });
}

/**
 * Longer than this, nobody holds the event loop without letting others have their turn. Not shorter: what several parents
 * read of one kind in a turn is one statement.
 */
const LONG_MS = 40;

/** The processor time of this thread: on a busy machine even a turn with little work takes long. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Turns of the event loop, and the operations that wait for the next. */
class EventLoop {
  /** When work in this turn was first looked at, and its end. */
  #turn: { began: number; end: Promise<void> } | null = null;
  /** The operations go on one by one, since together they would make a long turn again. */
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the caller may do a bit of work, of a millisecond at most. */
  turnForMore(): Promise<void> {
    const mine = this.#last.then(() => this.endOfLongTurn() ?? undefined);
    this.#last = mine.then(afterPromises);
    return mine;
  }

  /** The end of this turn, where work has gone on for long in it; null while it may go on. */
  endOfLongTurn(): Promise<void> | null {
    this.#turn ??= { began: workedMs(), end: this.#endOfTurn() };
    return workedMs() - this.#turn.began > LONG_MS ? this.#turn.end : null;
  }

  async #endOfTurn(): Promise<void> {
    await nextTurn();
    this.#turn = null;
  }
}

/** An operation resumes its work after at most this many promises. */
const PROMISES = 5;
async function afterPromises(): Promise<void> {
  for (let at = 0; at < PROMISES; at++) await null;
}

const eventLoop = new EventLoop();
