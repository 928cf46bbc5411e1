import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
} from 'graphql';
import type { Budget } from './budget.ts';
import type { FaceContext } from './context.ts';
import { endOfLongTurn } from './turn.ts';

type Resolver = GraphQLFieldResolver<unknown, FaceContext>;

/** Quotes, colon, comma, and what a value that is no text takes. */
const PUNCTUATION = 6;
/** Shorter lists are completed in one go. */
const SHORT = 100;

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
      const own = field.name.length + PUNCTUATION;
      const made = isLeafType(getNamedType(field.type)) ? leafMade : objectMade;
      field.resolve = (source, args, context: FaceContext, info) => {
        const { budget } = context;
        if (isRootOfEvents) budget.renew();
        const value = resolve(source, args, context, info);
        return value instanceof Promise ? value.then((one) => made(one, own, budget)) : made(value, own, budget);
      };
    }
  }
  return schema;
}

function leafMade(value: unknown, own: number, budget: Budget): unknown {
  budget.spend(0, own + lengthOf(value));
  return value;
}

function objectMade(value: unknown, own: number, budget: Budget): unknown {
  if (!Array.isArray(value)) {
    budget.spend(value == null ? 0 : 1, own);
    return value;
  }
  budget.spend(value.length, own);
  return value.length > SHORT || endOfLongTurn() ? paced(value) : value;
}

/** About how long a value's text is; never longer than it is. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + lengthOf(one) + 1, 0);
  const known = lengths.get(value) ?? JSON.stringify(value).length;
  lengths.set(value, known);
  return known;
}

/** Of JSON values, which one answer may hold under many names. */
const lengths = new WeakMap<object, number>();

/** A list whose items come one by one, with a rest for others wherever they have waited for long. */
function paced<T>(items: readonly T[]): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      let at = 0;
      const next = (): IteratorResult<T> =>
        at < items.length ? { done: false, value: items[at++] as T } : { done: true, value: undefined };
      return {
        async next() {
          await endOfLongTurn();
          return next();
        },
      };
    },
  };
}
