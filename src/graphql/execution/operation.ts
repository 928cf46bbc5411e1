import { type ExecutionResult, execute, GraphQLError, OperationTypeNode, subscribe } from 'graphql';
import type { Logger } from 'pino';
import { readInput } from '../../core/input.ts';
import { schema } from '../schema/schema.ts';
import { GraphqlContext } from './context.ts';
import { prepare } from './document.ts';
import { resultForWire, rewritten } from './errors.ts';
import { executeOnce } from './idempotency.ts';
import { operationParams } from './json-requests.ts';
import { textOf } from './persisted-documents.ts';
import { guard } from './plugins.ts';
import { inTime } from './time-limit.ts';
import { traceOperation } from './traced-operation.ts';

/** What an operation gives: one result, or those of a subscription, whose `return` ends it at once. */
export type Outcome = ExecutionResult | AsyncGenerator<ExecutionResult, undefined>;

/** What an operation on a connection with several of them comes with. */
export interface OperationRequest extends Pick<GraphqlContext, 'ctx' | 'idempotencyKey' | 'charge' | 'res'> {
  /** Aborts when the connection is over. */
  over: AbortSignal;
  log: Logger;
  /** Is called once, when nothing of it goes on. */
  onEnd: () => void;
}

/**
 * Runs one operation of a connection that carries several, by the same rules as a request of its own. Nothing is thrown:
 * what is wrong is in the result, whose errors are as callers may see them.
 */
export async function operate(asked: unknown, { over, log, onEnd, ...request }: OperationRequest): Promise<Outcome> {
  const ended = new AbortController();
  const closed = AbortSignal.any([over, ended.signal]);
  const context = new GraphqlContext({ ...request, closed: () => closed });
  const shown = (result: ExecutionResult) => resultForWire(result, context, log);
  if (closed.aborted) onEnd();
  else closed.addEventListener('abort', onEnd, { once: true });
  try {
    const result = await begin(asked, context);
    if (Symbol.asyncIterator in result) return results(result, shown, () => ended.abort());
    ended.abort();
    return shown(result);
  } catch (error) {
    ended.abort();
    return refusal(error as Error, context, log);
  }
}

/** The outcome of an operation that could not be begun. */
export const refusal = (error: Error, context: Pick<GraphqlContext, 'ctx' | 'res'>, log: Logger): ExecutionResult =>
  resultForWire({ errors: [asGraphqlError(error)] }, context, log);

async function begin(
  asked: unknown,
  context: GraphqlContext,
): Promise<ExecutionResult | AsyncGenerator<ExecutionResult, void, void>> {
  const params = readInput(operationParams, asked);
  const text = textOf(params, context.ctx.services.config.TRUSTED_DOCUMENTS);
  if (text === undefined) throw new GraphQLError('Must provide query string.');
  const document = prepared(text);
  if (document.errors.length > 0) return { errors: document.errors.map(coded('GRAPHQL_VALIDATION_FAILED')) };
  const { operationName, variables } = params;
  const operation = document.operation(operationName);
  if (!operation) {
    throw coded('OPERATION_RESOLUTION_FAILURE')(new GraphQLError('Could not determine what operation to execute.'));
  }
  const args = { document: document.tree, operationName, variableValues: variables, contextValue: context };
  const { extensions } = guard(operation, variables, context);
  if (operation.node.operation === OperationTypeNode.SUBSCRIPTION) {
    return traceOperation(operation, () => subscribe({ schema, ...args }));
  }
  const once = () =>
    executeOnce(context, operation.node, { query: text, variables, operationName }, () => execute({ schema, ...args }));
  const result = await traceOperation(operation, () => inTime(context, once()));
  return { ...result, extensions };
}

function prepared(text: string) {
  try {
    return prepare(text);
  } catch (error) {
    throw error instanceof GraphQLError && error.extensions.code === undefined
      ? coded('GRAPHQL_PARSE_FAILED')(error)
      : error;
  }
}

const coded = (code: string) => (error: GraphQLError) => rewritten(error, error.message, { code });

const asGraphqlError = (error: Error): GraphQLError =>
  error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error });

/** An error of the source is the last result. The end reaches the source even while a result is being waited for. */
function results(
  source: AsyncGenerator<ExecutionResult, void, void>,
  shown: (result: ExecutionResult) => ExecutionResult,
  end: () => void,
): AsyncGenerator<ExecutionResult, undefined> {
  let over = false;
  const done = { done: true as const, value: undefined };
  const finish = () => {
    over = true;
    end();
    return done;
  };
  const stop = async () => {
    finish();
    await source.return().catch(() => {});
    return done;
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (over) return done;
      try {
        const next = await source.next();
        return next.done ? finish() : { done: false, value: shown(next.value) };
      } catch (error) {
        finish();
        return { done: false, value: shown({ errors: [asGraphqlError(error as Error)] }) };
      }
    },
    return: stop,
    throw: stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}
