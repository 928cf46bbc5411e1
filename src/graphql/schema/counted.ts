import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  defaultFieldResolver,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
} from 'graphql';
import { type AnswerBudget, type GraphqlContext, PlannedObject, type Resolver } from './graphql-context.ts';

/** Quotes, colon, comma, and a value that is no text. */
const PUNCTUATION = 6;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
/** Longer lists are completed bit by bit: each item may have a hundred members. */
const SHORT = 250;
const BIT = 20;

/** Has every field count its objects and bytes, and long lists yield to other work. */
export function withAnswerBudget(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
      const named = getNamedType(field.type);
      const made: typeof objectMade = isLeafType(named) ? leafMade : objectMade;
      const longMs = isPlain(named) ? LONG_PLAIN_MS : LONG_MS;
      field.resolve = (source, args, context: GraphqlContext, info) => {
        const { budget } = context;
        if (budget.domainError && made === objectMade) return Promise.reject(budget.domainError);
        const value =
          source instanceof PlannedObject && field.args.length === 0
            ? source.take(info.path.key)
            : resolve(source, args, context, info);
        const own = String(info.path.key).length + PUNCTUATION;
        return value instanceof Promise
          ? value.then((one) => made(one, own, budget, longMs))
          : made(value, own, budget, longMs);
      };
    }
  }
  return schema;
}

/** Whether nothing is read below objects of this type. */
const isPlain = (type: GraphQLNamedType) =>
  isObjectType(type) && Object.values(type.getFields()).every((field) => isLeafType(getNamedType(field.type)));

/** Rejects nothing: each field of a large object would make an error. */
function leafMade(value: unknown, own: number, budget: AnswerBudget): unknown {
  budget.spend(0, own + lengthOf(value, budget));
  return value;
}

function objectMade(value: unknown, own: number, budget: AnswerBudget, longMs: number): unknown {
  const objects = Array.isArray(value) ? value.length : value == null ? 0 : 1;
  const domainError = budget.spend(objects, own);
  if (domainError) return Promise.reject(domainError);
  const isLong = objects > SHORT || eventLoop.endOfLongTurn(longMs);
  if (!Array.isArray(value)) return isLong ? eventLoop.turnForMore(longMs).then(() => value) : value;
  // Promises cannot throw: where an item does, graphql-js drops earlier ones, whose rejection would end the process.
  return isLong ? paced(value, budget, longMs) : value.map((item) => Promise.resolve(item));
}

/** The length of a value's text; 0 for numbers and booleans. */
function lengthOf(value: unknown, budget: AnswerBudget): number {
  if (typeof value === 'string') return Buffer.byteLength(ESCAPED.test(value) ? JSON.stringify(value) : value);
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + lengthOf(one, budget) + 1, 0);
  const known = budget.lengths.get(value) ?? Buffer.byteLength(JSON.stringify(value));
  budget.lengths.set(value, known);
  return known;
}

/** The items of a list as promises, with a turn for other work after each long one. */
function paced(items: readonly unknown[], budget: AnswerBudget, longMs: number): Promise<unknown>[] {
  let bit = Promise.resolve();
  return items.map((item, at) => {
    if (at % BIT === 0) bit = bit.then(() => eventLoop.turnForMore(longMs));
    return bit.then(() => (budget.domainError ? Promise.reject(budget.domainError) : item));
  });
}

/** The longest turn of the event loop. Shorter turns would split statements, which batch the reads of one turn. */
const LONG_MS = 40;
/** The longest turn for objects below which nothing is read. */
const LONG_PLAIN_MS = 8;

/** The processor time of this thread: on a busy machine even a short turn takes long. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

class EventLoop {
  #turn: { began: number; end: Promise<void> } | null = null;
  /** Operations resume one by one: together they would make a long turn again. */
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the caller may work for a millisecond. */
  turnForMore(longMs: number): Promise<void> {
    const mine = this.#last.then(() => this.endOfLongTurn(longMs) ?? undefined);
    this.#last = mine.then(afterPromises);
    return mine;
  }

  /** The end of this turn if it has been long; null otherwise. */
  endOfLongTurn(longMs: number): Promise<void> | null {
    this.#turn ??= { began: workedMs(), end: this.#endOfTurn() };
    return workedMs() - this.#turn.began > longMs ? this.#turn.end : null;
  }

  async #endOfTurn(): Promise<void> {
    await nextTurn();
    this.#turn = null;
  }
}

/** Resolves when what was resumed has worked: all promises of this moment are done. Reads below it wait for the turn (operation-reads.ts). */
const afterPromises = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

const eventLoop = new EventLoop();
