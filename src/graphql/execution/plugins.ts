import { type DocumentNode, type ExecutionResult, execute, GraphQLError, type Source, subscribe } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import { CostExceeded, Unauthenticated } from '../../core/errors.ts';
import { localsOf } from '../../http/locals.ts';
import type { GraphqlContext } from './context.ts';
import { type Document, prepare } from './document.ts';
import { noted, RejectedDocument, type Result } from './errors.ts';
import { executeOnce } from './idempotency.ts';
import type { PreparedOperation } from './prepared-operation.ts';
import type { Variables } from './selected.ts';
import { inTime } from './time-limit.ts';
import { traceOperation } from './traced-operation.ts';

type GraphqlPlugin = Plugin<GraphqlContext, GraphqlContext>;

/**
 * Bounds and tokens, before anything is executed; and graphql-js for Yoga's own executor, which takes an answer with a field
 * called `then` for the promise of one.
 */
export const guards: GraphqlPlugin = {
  onParse: ({ setParseFn }) => setParseFn((source: string | Source) => treeOf(prepare(source))),
  onValidate: ({ params, setResult }) => setResult(documents.get(params.documentAST)?.errors ?? []),
  onExecute({ args, setExecuteFn }) {
    const context = args.contextValue;
    const operation = documents.get(args.document)?.operation(args.operationName);
    if (!operation) return;
    const { extensions } = guard(operation, args.variableValues, context);
    setExecuteFn(async (given) => {
      const result = await traceOperation(operation, async () => {
        const executed = executeOnce(context, operation.node, context.params, () => execute(given));
        return Promise.resolve(inTime(context, executed)).catch(asGraphqlError);
      });
      return { ...result, extensions };
    });
  },
  onSubscribe({ args, setSubscribeFn }) {
    const operation = documents.get(args.document)?.operation(args.operationName);
    if (!operation) return;
    guard(operation, args.variableValues, args.contextValue);
    setSubscribeFn((given) =>
      traceOperation(operation, async () => {
        const events = await subscribe(given);
        return Symbol.asyncIterator in events ? mapped(events, (event) => event) : events;
      }),
    );
  },
};

/** Documents by their trees, of which alone Yoga knows. */
const documents = new WeakMap<DocumentNode, Document>();
const treeOf = (document: Document): DocumentNode => {
  documents.set(document.tree, document);
  return document.tree;
};

/** Yoga's 406 names every form of answer again for each one that was asked for: up to some hundred kB of header. */
export const shortRejection: GraphqlPlugin = {
  onResponse({ response }) {
    if (response.status === 406) response.headers.set('Accept', FORMS);
  },
};

const FORMS = 'application/graphql-response+json, application/json, multipart/mixed, text/event-stream';

/** What an answer is to say of its operation's cost, and the values of the variables, with their defaults. */
export interface Guarded {
  extensions: ExecutionResult['extensions'];
  variables: Variables;
}

/** Rejects an operation that nobody may run, or that costs too much; throws GraphQLError. */
export function guard(
  operation: PreparedOperation,
  given: Variables | null | undefined,
  { ctx, res, charge }: Pick<GraphqlContext, 'ctx' | 'res' | 'charge'>,
): Guarded {
  const locals = localsOf(res);
  locals.operation = operation.label;
  locals.anonymous = !operation.node.name;
  // Here and not in core alone: where contracts are open to REST callers without a token, GraphQL still needs one.
  if (!ctx.caller && !operation.asksOnlyForSchema) {
    throw asGraphqlError(new Unauthenticated('This needs a bearer token.', null));
  }
  const { INTROSPECTION, LIMIT_GRAPHQL_COST, LIMIT_VINS } = ctx.services.config;
  if (!INTROSPECTION && operation.asksForSchema) throw new RejectedDocument('The schema cannot be asked for here.');
  const variables = operation.readVariables(given ?? {}, { longest: LIMIT_VINS, hints: INTROSPECTION });
  const cost = operation.costFor(variables);
  try {
    if (cost > LIMIT_GRAPHQL_COST) throw new CostExceeded(tooCostly(cost, LIMIT_GRAPHQL_COST));
    charge(cost);
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
