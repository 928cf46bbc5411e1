import { type DocumentNode, GraphQLError, getOperationAST, Kind } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import { Unauthenticated } from '../core/errors.ts';
import type { FaceContext } from './context.ts';
import { costOf, MAX_COST } from './cost.ts';
import { type Result, withWireErrors } from './errors.ts';
import { asksOnlyForSchema, outOfBounds, readDocument } from './guards.ts';
import { executeOnce } from './idempotency.ts';
import { openLoaders } from './loaders.ts';
import { schema } from './schema.ts';
import { traceOperation } from './traced-operation.ts';

type FacePlugin = Plugin<FaceContext, FaceContext>;

/** Documents that were found valid; they are kept as long as readDocument keeps them. */
export const valid = new WeakSet<DocumentNode>();

/** Bounds and tokens, before anything is executed. */
export const guards: FacePlugin = {
  onParse: ({ setParseFn }) => setParseFn(readDocument),
  onValidate({ params: { documentAST }, setResult }) {
    if (valid.has(documentAST)) return setResult([]);
    return ({ valid: passed }) => {
      if (passed) valid.add(documentAST);
    };
  },
  onExecute({ args, executeFn, setExecuteFn }) {
    guard(args);
    const operation = getOperationAST(args.document, args.operationName);
    if (!operation) return;
    const face = args.contextValue;
    setExecuteFn((given) =>
      traceOperation(operation, face.res, () =>
        executeOnce(face, operation, face.params, () => executeFn(given)).catch(asGraphqlError),
      ),
    );
  },
  onSubscribe({ args, extendContext, subscribeFn, setSubscribeFn }) {
    guard(args);
    const operation = getOperationAST(args.document, args.operationName);
    const { res } = args.contextValue;
    if (operation) setSubscribeFn((given) => traceOperation(operation, res, () => subscribeFn(given)));
    // A stream must not show what was true when it began.
    extendContext({ loaders: openLoaders(args.contextValue.ctx, { cache: false }) });
  },
};

interface ExecutionArgs {
  document: DocumentNode;
  operationName?: string | null | undefined;
  variableValues?: Readonly<Record<string, unknown>> | null | undefined;
  contextValue: FaceContext;
}

/** Refuses an operation that nobody may run, or that costs too much; throws GraphQLError. */
export function guard({ document, operationName, variableValues, contextValue: { ctx, res } }: ExecutionArgs): void {
  const operation = getOperationAST(document, operationName);
  if (!operation) return;
  // For log and metrics: by what it asks for, since the name of an operation is the client's invention.
  const field = operation.selectionSet.selections.find((node) => node.kind === Kind.FIELD);
  res.locals.operation = `${operation.operation} ${field?.name.value ?? '(fragments)'}`;
  res.locals.anonymous = !operation.name;
  // Here and not in core alone: where contracts are open to REST callers without a token, GraphQL still needs one.
  if (!ctx.caller && !asksOnlyForSchema(document, operation)) {
    throw asGraphqlError(new Unauthenticated('This needs a bearer token.', null));
  }
  const cost = costOf({ schema, document, operation, variables: variableValues ?? {} });
  if (cost > MAX_COST)
    throw outOfBounds(`objects in its answer; this one may have ${cost.toLocaleString('en')}`, MAX_COST);
}

/** Yoga takes an error that has a member "errors", as all of core's have, for a bundle of several. */
function asGraphqlError(error: Error): never {
  throw new GraphQLError(error.message, { originalError: error });
}

/** Every answer leaves through here, with its errors as callers may see them. */
export function wireErrors(log: Logger): FacePlugin {
  return {
    onResultProcess({ result, setResult, serverContext }) {
      const { ctx, res } = serverContext;
      const shown = <R extends Result>(one: R): R => {
        const wired = withWireErrors(one, ctx.requestId, log);
        // For the request's line in the log.
        res.locals.code ??= wired.errors?.[0]?.extensions.code;
        return wired;
      };
      if (Array.isArray(result)) setResult(result.map(shown));
      else setResult(Symbol.asyncIterator in result ? mapped(result, shown) : shown(result as Result as never));
    },
  };
}

/** An iterable whose end reaches the source even while a value is being waited for, as a generator's would not. */
function mapped<T>(source: AsyncIterable<T>, map: (value: T) => T): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      const shown = (next: IteratorResult<T>) => (next.done ? next : { ...next, value: map(next.value) });
      return {
        next: async () => shown(await iterator.next()),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}
