import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
  Kind,
  type Source,
  subscribe,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import { CostExceeded, Unauthenticated } from '../../core/errors.ts';
import { localsOf } from '../../http/locals.ts';
import { schema } from '../schema/schema.ts';
import type { GraphqlContext } from './context.ts';
import { costOf } from './cost.ts';
import { prepare } from './document.ts';
import { noted, type Result } from './errors.ts';
import { asksForSchema, asksOnlyForSchema, rejectedDocument } from './guards.ts';
import { executeOnce } from './idempotency.ts';
import { inTime } from './time-limit.ts';
import { traceOperation } from './traced-operation.ts';
import { readVariables } from './variables.ts';

type GraphqlPlugin = Plugin<GraphqlContext, GraphqlContext>;

/**
 * Bounds and tokens, before anything is executed; and graphql-js for Yoga's own executor, which takes an answer with a field
 * called `then` for the promise of one.
 */
export const guards: GraphqlPlugin = {
  onParse: ({ setParseFn }) => setParseFn((source: string | Source) => prepare(source).tree),
  onValidate: ({ context, setResult }) => setResult(prepare(context.params.query ?? '').errors),
  onExecute({ args, setExecuteFn }) {
    const { extensions } = guard(args);
    const operation = getOperationAST(args.document, args.operationName);
    if (!operation) return;
    const context = args.contextValue;
    setExecuteFn(async (given) => {
      const result = await traceOperation(operation, context.res, async () => {
        const executed = executeOnce(context, operation, context.params, () => execute(given));
        return Promise.resolve(inTime(context, executed)).catch(asGraphqlError);
      });
      return { ...result, ...(extensions && { extensions }) };
    });
  },
  onSubscribe({ args, setSubscribeFn }) {
    guard(args);
    const operation = getOperationAST(args.document, args.operationName);
    const { res } = args.contextValue;
    if (operation) {
      setSubscribeFn((given) =>
        traceOperation(operation, res, async () => {
          const events = await subscribe(given);
          return Symbol.asyncIterator in events ? mapped(events, (event) => event) : events;
        }),
      );
    }
  },
};

/** Yoga's 406 names every form of answer again for each one that was asked for: up to some hundred kB of header. */
export const shortRejection: GraphqlPlugin = {
  onResponse({ response }) {
    if (response.status === 406) response.headers.set('Accept', FORMS);
  },
};

const FORMS = 'application/graphql-response+json, application/json, multipart/mixed, text/event-stream';

interface ExecutionArgs {
  document: DocumentNode;
  operationName?: string | null | undefined;
  variableValues?: Readonly<Record<string, unknown>> | null | undefined;
  contextValue: GraphqlContext;
}

/** What an answer is to say of its operation's cost, and the values of the variables, with their defaults. */
export interface Guarded {
  extensions?: ExecutionResult['extensions'];
  variables: Readonly<Record<string, unknown>>;
}

/** Rejects an operation that nobody may run, or that costs too much; throws GraphQLError. */
export function guard(args: ExecutionArgs): Guarded {
  const { document, operationName, variableValues, contextValue } = args;
  const { ctx, res } = contextValue;
  const operation = getOperationAST(document, operationName);
  if (!operation) return { variables: {} };
  // For log and metrics: by what it asks for, since the name of an operation is the client's invention.
  const field = operation.selectionSet.selections.find((node) => node.kind === Kind.FIELD);
  localsOf(res).operation = `${operation.operation} ${field?.name.value ?? '(fragments)'}`;
  localsOf(res).anonymous = !operation.name;
  // Here and not in core alone: where contracts are open to REST callers without a token, GraphQL still needs one.
  if (!ctx.caller && !asksOnlyForSchema(document, operation)) {
    throw asGraphqlError(new Unauthenticated('This needs a bearer token.', null));
  }
  const { INTROSPECTION, LIMIT_GRAPHQL_COST, LIMIT_VINS } = ctx.services.config;
  if (!INTROSPECTION && asksForSchema(document)) throw rejectedDocument('The schema cannot be asked for here.');
  const variables = readVariables(operation, variableValues ?? {}, { longest: LIMIT_VINS, hints: INTROSPECTION });
  const cost = costOf({ schema, document, operation, variables });
  try {
    if (cost > LIMIT_GRAPHQL_COST) throw new CostExceeded(tooCostly(cost, LIMIT_GRAPHQL_COST));
    contextValue.charge(cost);
  } catch (error) {
    throw asGraphqlError(error as Error);
  }
  return { extensions: { cost: { requestedQueryCost: cost, maximumQueryCost: LIMIT_GRAPHQL_COST } }, variables };
}

const tooCostly = (cost: number, limit: number): string =>
  `An operation has at most ${limit.toLocaleString('en')} objects in its answer; this one may have ${cost.toLocaleString('en')}.`;

/** Yoga takes an error that has a member "errors", as all of core's have, for a bundle of several. */
function asGraphqlError(error: Error): never {
  throw new GraphQLError(error.message, { originalError: error });
}

/** Every answer leaves through here, with its errors as callers may see them. */
export function wireErrors(log: Logger): GraphqlPlugin {
  return {
    onResultProcess({ result, setResult, serverContext }) {
      const shown = <R extends Result>(one: R): R => noted(one, serverContext, log);
      if (Array.isArray(result)) setResult(result.map(shown));
      else setResult(Symbol.asyncIterator in result ? mapped(result, shown) : shown(result as Result as never));
    },
  };
}

/**
 * An iterable whose end reaches the source even while a value is being waited for, as a generator's would not. Errors of the
 * source are such as Yoga understands.
 */
function mapped<T>(source: AsyncIterable<T>, map: (value: T) => T): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      const shown = (next: IteratorResult<T>) => (next.done ? next : { ...next, value: map(next.value) });
      return {
        next: async () => shown(await iterator.next().catch(asGraphqlError)),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}
