import { type ExecutionResult, execute, GraphQLError, OperationTypeNode, subscribe } from 'graphql';
import { z } from 'zod';
import { CostExceeded, MethodNotAllowed, Unauthenticated } from '../../core/errors.ts';
import { countItems, readInput } from '../../core/input.ts';
import { inChangeTurn } from '../../core/sql/send.ts';
import { localsOf } from '../../http/request-context.ts';
import { traced } from '../../telemetry/telemetry.ts';
import { schema } from '../schema/schema.ts';
import {
  AnswerBudget,
  chargeCost,
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

/** Any object: zod's records would lose a member `__proto__`. */
const object = z.custom<Record<string, unknown>>((value) => value instanceof Object && !Array.isArray(value));
const operationParams = z.object({
  query: z.string().nullish(),
  variables: object.nullish(),
  operationName: z.string().nullish(),
  extensions: object.nullish(),
});

/** A result as JSON or as an object with public errors; or the results of a subscription. */
export type Outcome = string | ExecutionResult | ResultStream;
/** A stream of results whose `return` ends the source at once, even while a result is awaited. */
export type ResultStream = AsyncIterableIterator<ExecutionResult, void>;

export const isStream = (outcome: Outcome): outcome is ResultStream =>
  typeof outcome === 'object' && Symbol.asyncIterator in outcome;

/** Runs a client's `query`, `variables`, `operationName` and `extensions`. Never throws. */
export async function run(sent: unknown, request: OperationRequest): Promise<Outcome> {
  try {
    await request.services.turns.next(request.ctx.caller?.company ?? '');
    const outcome = await begin(sent, request);
    if (isStream(outcome)) return streamOf(outcome, request);
    return typeof outcome === 'string' ? outcome : shownResult(outcome, request);
  } catch (error) {
    return refusal(error as Error, request);
  }
}

/** A VIN in the text of a document. */
const LITERAL_LENGTH = 20;

async function begin(sent: unknown, request: OperationRequest): Promise<Outcome> {
  const params = readInput(operationParams, sent);
  const text = textOf(params, request.ctx);
  if (!text) throw new GraphQLError('Must provide query string.');
  const document = prepare(text);
  if (document.errors.length > 0) return { errors: document.errors };
  const { operationName } = params;
  const operation = document.operation(operationName);
  if (!operation) {
    const extensions = { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } };
    throw new GraphQLError('Could not determine what operation to execute.', { extensions });
  }
  const { operation: type } = operation.node;
  if (type === OperationTypeNode.MUTATION && !request.mayChange) throw new MethodNotAllowed('GET', ['POST']);
  const { variables, cost } = guard(operation, params.variables ?? {}, request);
  const { LIMIT_GRAPHQL_COST } = request.services.config;
  const budget = new AnswerBudget(LIMIT_GRAPHQL_COST);
  const context: GraphqlContext = { ...request, budget, reads: new Reads(request.ctx, operation, variables) };
  const { variables: variableValues } = params;
  const args = { schema, document: document.tree, operationName, variableValues, contextValue: context };
  if (type === OperationTypeNode.SUBSCRIPTION) return traceOperation(operation, () => subscribe(args));
  const byGraphql = () => execute(args);
  const query = async () => {
    if (operation.isOfSchema) return operation.schemaText(byGraphql);
    // graphql-js answers where the database's text is not the whole.
    return (await context.reads.text()) ?? byGraphql();
  };
  const mutation = () => {
    const items = countItems(variableValues) + text.length / LITERAL_LENGTH;
    const change = () => executeOnce(context, operation.node, { ...params, query: text }, byGraphql);
    // The time of an operation does not include the wait for its turn.
    return inChangeTurn(request.ctx, items, () => inTime(context, change()));
  };
  const result = await traceOperation(operation, () =>
    type === OperationTypeNode.MUTATION ? mutation() : inTime(context, query()),
  );
  const extensions = { cost: { requestedQueryCost: cost, maximumQueryCost: LIMIT_GRAPHQL_COST } };
  if (typeof result !== 'string') return { ...result, extensions };
  if (Buffer.byteLength(result) > MOST_BYTES) throw tooLarge(`${MOST_BYTES.toLocaleString('en')} bytes`);
  return `{"data":${result},"extensions":${JSON.stringify(extensions)}}`;
}

/** Reads the variables; throws if the caller may not run the operation, or it costs too much. */
function guard(operation: PreparedOperation, given: Variables, request: OperationRequest) {
  const { ctx, res, services } = request;
  const locals = localsOf(res);
  locals.operation = operation.label;
  locals.anonymous = !operation.node.name;
  // GraphQL needs a token even where contracts are open without one.
  if (!ctx.caller && !operation.asksOnlyForSchema) throw new Unauthenticated('This needs a bearer token.', null);
  const { INTROSPECTION, LIMIT_GRAPHQL_COST } = services.config;
  if (!INTROSPECTION && operation.asksForSchema) throw rejectedDocument('The schema cannot be asked for here.');
  const variables = readVariables(schema, operation.node, given, services.config);
  const cost = operation.costFor(variables);
  if (cost > LIMIT_GRAPHQL_COST) throw new CostExceeded(tooCostly(cost, LIMIT_GRAPHQL_COST));
  chargeCost(request, cost);
  return { variables, cost };
}

const tooCostly = (cost: number, limit: number): string =>
  `An operation has at most ${limit.toLocaleString('en')} objects in its answer; this one may have ${cost.toLocaleString('en')}.`;

const LONGEST_NAME = 100;

/** Executes an operation as a step of traces and metrics, named by its first field. */
function traceOperation<T>({ node: { operation: type, name }, label }: PreparedOperation, work: () => MaybePromise<T>) {
  return traced(() => {
    const common = { 'graphql.operation.type': type, 'fleet_gateway.operation': label };
    const labels = { ...common, 'fleet_gateway.anonymous': !name };
    return {
      name: label,
      attributes: { ...common, ...(name && { 'graphql.operation.name': name.value.slice(0, LONGEST_NAME) }) },
      measured: { metric: 'fleet_gateway.graphql.operation.duration', labels },
    };
  }, work);
}

/** The results of a subscription; an error of the source is the last one. */
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
