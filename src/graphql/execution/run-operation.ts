import { execute, GraphQLError, OperationTypeNode } from 'graphql';
import { z } from 'zod';
import { type Context, contextOfSharedRead, requireCaller } from '../../core/context.ts';
import { cutText } from '../../core/cut-text.ts';
import { runAnswerInTurn, runChangeInTurn } from '../../core/database.ts';
import { CostExceeded, MethodNotAllowed, Unavailable, ValidationFailed } from '../../core/errors.ts';
import { countInputItems, readInput } from '../../core/input.ts';
import { MAX_PAGE_SIZE } from '../../core/sql/page.ts';
import { limitRate, localsOf } from '../../http/request-context.ts';
import { traced } from '../../telemetry/telemetry.ts';
import {
  AnswerBudget,
  type GraphqlContext,
  type MaybePromise,
  type OperationRequest,
} from '../schema/graphql-context.ts';
import { graphqlSchema } from '../schema/schema.ts';
import { executeOnce } from './execute-once.ts';
import { OperationReads } from './operation-reads.ts';
import { documentText } from './persisted-documents.ts';
import { type PreparedOperation, prepareDocument } from './prepare-document.ts';
import { errorResult, publicResult, rejectedDocumentError } from './result-errors.ts';
import { type EventAnswer, runSubscription } from './run-subscription.ts';
import type { GraphqlVariables } from './selected.ts';
import { readVariables } from './variables.ts';

/** Any object: zod's records would lose a member `__proto__`. */
const object = z.custom<Record<string, unknown>>(
  (value) => value instanceof Object && !Array.isArray(value),
  'must be an object',
);
const operationParams = z.object(
  {
    query: z.string().nullish(),
    variables: object.nullish(),
    operationName: z.string().nullish(),
    extensions: object.nullish(),
  },
  'Send one operation: a JSON object with the member "query".',
);

/** A result as JSON or as an object with public errors; or the results of a subscription. */
export type OperationResult = EventAnswer | ResultStream;
export type ResultStream = AsyncIterableIterator<EventAnswer, void>;

export const isResultStream = (outcome: OperationResult): outcome is ResultStream =>
  typeof outcome === 'object' && Symbol.asyncIterator in outcome;

/** Runs a client's `query`, `variables`, `operationName` and `extensions`. Never throws. */
export async function runOperation(sent: unknown, request: OperationRequest): Promise<OperationResult> {
  try {
    await request.services.fairness.turns.next(request.ctx.caller?.company ?? '');
    const outcome = await begin(sent, request);
    if (isResultStream(outcome)) return streamOf(outcome, request);
    return typeof outcome === 'string' ? outcome : publicResult(outcome, request);
  } catch (error) {
    return errorResult(error as Error, request);
  }
}

async function begin(sent: unknown, request: OperationRequest): Promise<OperationResult> {
  const params = readInput(operationParams, sent);
  const text = documentText(params, request.ctx);
  if (!text)
    throw new ValidationFailed(
      [],
      'Send a document as `query`, in JSON with the header Content-Type: application/json.',
    );
  const document = prepareDocument(text);
  if (document.errors.length > 0) return { errors: document.errors };
  const operationName = params.operationName || null;
  const operation = document.operation(operationName);
  if (!operation) {
    const extensions = { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } };
    const message = operationName
      ? `The document has no operation named "${cutText(operationName, 40)}".`
      : 'The document has several operations: name one as `operationName`.';
    throw new GraphQLError(message, { extensions });
  }
  const { operation: type } = operation.node;
  if (type === OperationTypeNode.MUTATION && !request.mayChange)
    throw new MethodNotAllowed('GET', ['POST'], ' A mutation needs POST.');
  const { variables, cost } = guard(operation, params.variables ?? {}, request);
  const { LIMIT_GRAPHQL_COST } = request.services.config;
  const open = (ctx: Context): GraphqlContext & { reads: OperationReads } => {
    const budget = new AnswerBudget(LIMIT_GRAPHQL_COST);
    return { ...request, ctx, budget, reads: new OperationReads(ctx, operation, variables, budget) };
  };
  const context = open(request.ctx);
  const { reads } = context;
  const { variables: variableValues } = params;
  const args = { schema: graphqlSchema, document: document.tree, operationName, variableValues, contextValue: context };
  if (type === OperationTypeNode.SUBSCRIPTION) {
    const openShared = () => open(contextOfSharedRead(request.ctx));
    return traceOperation(operation, () => runSubscription(operation, args, openShared));
  }
  const byGraphql = () => execute(args);
  // graphql-js answers where the database's text is not the whole.
  const query = async () => (await reads.text()) ?? byGraphql();
  const change = () => executeOnce(context, operation.node, { ...params, query: text }, byGraphql);
  // The time of an operation does not include the wait for its turn.
  const result = await traceOperation(operation, () => {
    if (type === OperationTypeNode.QUERY) {
      return runAnswerInTurn(request.ctx, reads.isText ? 0 : cost, () => withTimeLimit(context, query()));
    }
    const items = countInputItems(variableValues) + operation.document.listItems;
    return runChangeInTurn(request.ctx, items, () => withTimeLimit(context, change()));
  });
  const extensions = { cost: { requestedQueryCost: cost, maximumQueryCost: LIMIT_GRAPHQL_COST } };
  if (typeof result !== 'string') return { ...result, extensions };
  return `{"data":${result},"extensions":${JSON.stringify(extensions)}}`;
}

/** Reads the variables; throws if the caller may not run the operation, or it costs too much. */
function guard(operation: PreparedOperation, given: GraphqlVariables, request: OperationRequest) {
  const { ctx, res, services } = request;
  const locals = localsOf(res);
  locals.operation = operation.label;
  locals.anonymous = !operation.node.name;
  // GraphQL needs a token even where contracts are open without one.
  if (!operation.asksOnlyForSchema) requireCaller(ctx);
  const { INTROSPECTION, LIMIT_GRAPHQL_COST } = services.config;
  if (!INTROSPECTION && operation.document.asksForSchema)
    throw rejectedDocumentError('The schema cannot be asked for here.');
  const variables = readVariables(graphqlSchema, operation.node, given, services.config);
  const cost = operation.costFor(variables);
  if (cost > LIMIT_GRAPHQL_COST) {
    const [most, own] = [LIMIT_GRAPHQL_COST, cost].map((one) => one.toLocaleString('en'));
    throw new CostExceeded(`An operation has at most ${most} objects in its answer; this one may have ${own}.`);
  }
  chargeCost(request, cost);
  return { variables, cost };
}

/** One point of the rate limit pays for the largest page of REST. */
const OBJECTS_PER_POINT = MAX_PAGE_SIZE;

/** Counts the points of an operation of this cost beyond that of its request; throws RateLimited. */
function chargeCost({ services: { rateLimit }, payer, res }: OperationRequest, cost: number): void {
  // An operation that costs more than a minute's points takes all of them.
  const points = Math.min(Math.ceil(cost / OBJECTS_PER_POINT), rateLimit.perMinute) - 1;
  if (points > 0) limitRate(rateLimit, payer, points, res);
}

/** Waits at most LIMIT_GRAPHQL_SECONDS for an operation that is no upload. Throws Unavailable, and CostExceeded for a large answer. */
async function withTimeLimit<T>({ budget, services, res }: GraphqlContext, work: MaybePromise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const seconds = services.config.LIMIT_GRAPHQL_SECONDS;
  const timer = setTimeout(() => {
    if (localsOf(res).readsUpload) return;
    const text = `The operation took longer than ${seconds} s. A change that it was making may still be made.`;
    const domainError = new Unavailable(text);
    // Resolvers that still run end, too.
    budget.stop(domainError);
    reject(domainError);
  }, seconds * 1000);
  const result = await Promise.race([work, late]).finally(() => clearTimeout(timer));
  if (budget.domainError) throw budget.domainError;
  return result;
}

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

/** The results of a subscription; an error of the source is the last one. Many followers wait for the same text. */
async function* streamOf(source: ResultStream, request: OperationRequest): ResultStream {
  const { news } = request.services.fairness;
  try {
    for await (const answer of source) {
      await news.next(request.ctx.caller?.company ?? '');
      yield typeof answer === 'string' ? answer : publicResult(answer, request);
    }
  } catch (error) {
    yield errorResult(error as Error, request);
  } finally {
    request.onEnd?.();
  }
}
