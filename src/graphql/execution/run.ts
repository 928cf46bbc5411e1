import { type ExecutionResult, execute, GraphQLError, OperationTypeNode, subscribe } from 'graphql';
import { z } from 'zod';
import { CostExceeded, MethodNotAllowed, Unauthenticated } from '../../core/errors.ts';
import { readInput } from '../../core/input.ts';
import { inLargeTurn } from '../../core/sql/send.ts';
import { localsOf, rowsOfBody } from '../../http/request-context.ts';
import { traced } from '../../telemetry/telemetry.ts';
import { schema } from '../schema/schema.ts';
import {
  AnswerBudget,
  type GraphqlContext,
  inTime,
  type MaybePromise,
  MOST_BYTES,
  type OperationRequest,
  tooLarge,
} from './context.ts';
import { type PreparedOperation, prepare } from './document.ts';
import { refusal, rejectedDocument, shownResult } from './errors.ts';
import { executeOnce } from './idempotency.ts';
import { textOf } from './persisted-documents.ts';
import { Reads } from './reads.ts';
import type { Variables } from './selected.ts';
import { readVariables } from './variables.ts';

/** An object as it came: zod's own records lose a member called `__proto__`. */
const object = z.custom<Record<string, unknown>>((value) => value instanceof Object && !Array.isArray(value));
const operationParams = z.object({
  query: z.string().nullish(),
  variables: object.nullish(),
  operationName: z.string().nullish(),
  extensions: object.nullish(),
});

/** A result as JSON or as an object, whose errors are as callers may see them; or the results of a subscription. */
export type Outcome = string | ExecutionResult | ResultStream;
/** A stream of results whose `return` ends the source at once, even while a result is awaited. */
export type ResultStream = AsyncIterableIterator<ExecutionResult, void>;

export const isStream = (outcome: Outcome): outcome is ResultStream =>
  typeof outcome === 'object' && Symbol.asyncIterator in outcome;

/** Runs what a client sent: its `query`, `variables`, `operationName` and `extensions`. Never throws. */
export async function run(sent: unknown, request: OperationRequest): Promise<Outcome> {
  try {
    const { services, caller } = request.ctx;
    await services.turns.next(caller?.company ?? '');
    const outcome = await inLargeTurn(request.ctx, 'request', rowsOfBody(request.res), () => begin(sent, request));
    if (isStream(outcome)) return streamOf(outcome, request);
    return typeof outcome === 'string' ? outcome : shownResult(outcome, request);
  } catch (error) {
    return refusal(error as Error, request);
  }
}

async function begin(sent: unknown, request: OperationRequest): Promise<Outcome> {
  const params = readInput(operationParams, sent);
  const text = textOf(params, request.ctx);
  if (!text) throw new GraphQLError('Must provide query string.');
  const document = prepare(text);
  if (document.errors.length > 0) return { errors: document.errors };
  const { operationName } = params;
  const operation = document.operation(operationName);
  if (!operation) throw noOperation();
  const { mayChange, ctx } = request;
  const { operation: type } = operation.node;
  if (type === OperationTypeNode.MUTATION && !mayChange) throw new MethodNotAllowed('GET', ['POST']);
  const { variables, cost } = guard(operation, params.variables ?? {}, request);
  const { LIMIT_GRAPHQL_COST } = ctx.services.config;
  const budget = new AnswerBudget(LIMIT_GRAPHQL_COST);
  const context: GraphqlContext = { ...request, budget, reads: new Reads(ctx, operation, variables) };
  const args = {
    schema,
    document: document.tree,
    operationName,
    variableValues: params.variables,
    contextValue: context,
  };
  if (type === OperationTypeNode.SUBSCRIPTION) return traceOperation(operation, () => subscribe(args));
  const work = () =>
    type === OperationTypeNode.QUERY
      ? query(context, operation, () => execute(args))
      : executeOnce(context, operation.node, { ...params, query: text }, () => execute(args));
  const result = await traceOperation(operation, () => inTime(context, work()));
  const extensions = { cost: { requestedQueryCost: cost, maximumQueryCost: LIMIT_GRAPHQL_COST } };
  if (typeof result !== 'string') return { ...result, extensions };
  if (Buffer.byteLength(result) > MOST_BYTES) throw tooLarge(`${MOST_BYTES.toLocaleString('en')} bytes`);
  return `{"data":${result},"extensions":${JSON.stringify(extensions)}}`;
}

/** The data as the database writes it; graphql-js makes what is not whole, of what was read. */
function query(
  { reads }: GraphqlContext,
  operation: PreparedOperation,
  executeAll: () => MaybePromise<ExecutionResult>,
) {
  if (operation.isOfSchema) return operation.schemaText(executeAll);
  return reads.text().then((data) => data ?? executeAll());
}

const noOperation = () =>
  new GraphQLError('Could not determine what operation to execute.', {
    extensions: { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } },
  });

/** Reads the variables; throws for an operation that this caller may not run, or that costs too much. */
function guard(operation: PreparedOperation, given: Variables, { ctx, res, charge, hints }: OperationRequest) {
  const locals = localsOf(res);
  locals.operation = operation.label;
  locals.anonymous = !operation.node.name;
  // Here and not in core alone: where contracts are open to REST callers without a token, GraphQL still needs one.
  if (!ctx.caller && !operation.asksOnlyForSchema) throw new Unauthenticated('This needs a bearer token.', null);
  const { INTROSPECTION, LIMIT_GRAPHQL_COST, LIMIT_VINS } = ctx.services.config;
  if (!INTROSPECTION && operation.asksForSchema) throw rejectedDocument('The schema cannot be asked for here.');
  const variables = readVariables(schema, operation.node, given, { longest: LIMIT_VINS, hints });
  const cost = operation.costFor(variables);
  if (cost > LIMIT_GRAPHQL_COST) throw new CostExceeded(tooCostly(cost, LIMIT_GRAPHQL_COST));
  charge(cost);
  return { variables, cost };
}

const tooCostly = (cost: number, limit: number): string =>
  `An operation has at most ${limit.toLocaleString('en')} objects in its answer; this one may have ${cost.toLocaleString('en')}.`;

/** The name of an operation is the client's invention. */
const LONGEST_NAME = 100;

/** Executes an operation as a step that traces and metrics name by what it asks for. */
function traceOperation<T>({ node: { operation: type, name }, label }: PreparedOperation, work: () => MaybePromise<T>) {
  return traced(() => {
    const common = { 'graphql.operation.type': type, 'fleet_gateway.operation': label };
    return {
      name: label,
      attributes: { ...common, ...(name && { 'graphql.operation.name': name.value.slice(0, LONGEST_NAME) }) },
      measured: {
        metric: 'fleet_gateway.graphql.operation.duration',
        labels: { ...common, 'fleet_gateway.anonymous': !name },
      },
    };
  }, work);
}

/** An error of the source is the last result. */
function streamOf(source: ResultStream, request: OperationRequest): ResultStream {
  let isOver = false;
  const done = { done: true as const, value: undefined };
  const end = () => {
    isOver = true;
    request.onEnd?.();
    return done;
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (isOver) return done;
      try {
        const next = await source.next();
        return next.done ? end() : { done: false, value: shownResult(next.value, request) };
      } catch (error) {
        end();
        return { done: false, value: refusal(error as Error, request) };
      }
    },
    async return() {
      end();
      await source.return?.().catch(() => {});
      return done;
    },
  };
}
