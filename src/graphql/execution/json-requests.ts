import type { Request, Response } from 'express';
import { type ExecutionResult, execute, OperationTypeNode } from 'graphql';
import { z } from 'zod';
import type { HttpServices } from '../../http/request-context.ts';
import { sendText } from '../../http/text-body.ts';
import { schema } from '../schema/schema.ts';
import { MOST_BYTES, tooLarge } from './budget.ts';
import type { GraphqlContext } from './context.ts';
import { type Document, prepare } from './document.ts';
import { type Http, noteCode, withWireErrors } from './errors.ts';
import { executeOnce } from './idempotency.ts';
import { textOf } from './persisted-documents.ts';
import { type Guarded, guard } from './plugins.ts';
import { Reads } from './reads.ts';
import { inTime, type MaybePromise } from './time-limit.ts';
import { traceOperation } from './traced-operation.ts';

/** As it came: zod's own records lose a member called `__proto__`. */
const object = z.custom<Record<string, unknown>>((value) => value instanceof Object && !Array.isArray(value));
/** One operation as it is sent; other members mean nothing here. */
export const operationParams = z.object({
  query: z.string().nullish(),
  variables: object.nullish(),
  operationName: z.string().nullish(),
  extensions: object.nullish(),
});
type Params = z.output<typeof operationParams>;

/**
 * The short way for what nearly every request is: a query or mutation sent as JSON that has an answer in JSON. Yoga's own
 * way through Fetch objects costs several times as much as a small query. The bounds, the token, the errors are the same
 * functions; whatever is out of the ordinary (a wrong document, wrong variables, a subscription) is left to Yoga: false.
 */
export function jsonRequests({ log }: HttpServices) {
  return async (req: Request, res: Response, context: GraphqlContext): Promise<boolean> => {
    const type = answerType(req);
    if (!type) return false;
    const { success, data } = operationParams.safeParse(req.body);
    const result = success ? await run(data, context) : null;
    if (!result) return false;
    if (typeof result === 'string') send(res, type, result);
    else {
      const shown = withWireErrors(result, context.ctx.requestId, log);
      noteCode(res, shown.errors);
      sendResult(res, type, shown);
    }
    return true;
  };
}

export const RESPONSE = 'application/graphql-response+json';

/** The media type of the answer, where both the request and its answer are plain JSON. */
function answerType(req: Request): string | null {
  const { accept = '*/*', 'content-type': type = '' } = req.headers;
  if (req.method !== 'POST' || !/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) return null;
  if (accept === RESPONSE) return RESPONSE;
  return accept === '*/*' || /^application\/json(?:\s*,\s*(?:text\/plain|\*\/\*))*$/.test(accept)
    ? 'application/json'
    : null;
}

/** The result of an operation, or its text; null for what is to be told by Yoga: nothing has been executed then. */
async function run(asked: Params, context: GraphqlContext): Promise<ExecutionResult | string | null> {
  const { variables, operationName } = asked;
  const query = textIn(asked, context);
  const document = query === undefined ? null : prepareValid(query);
  const operation = document?.operation(operationName);
  if (!document || !operation || operation.node.operation === OperationTypeNode.SUBSCRIPTION) return null;
  let guarded: Guarded;
  try {
    guarded = guard(operation, variables, context);
  } catch {
    return null;
  }
  const { extensions } = guarded;
  const args = { schema, document: document.tree, operationName, variableValues: variables, contextValue: context };
  const executeAll = () => execute(args);
  const work = (): MaybePromise<ExecutionResult | string> => {
    if (!operation.isQuery)
      return executeOnce(context, operation.node, { query, variables, operationName }, executeAll);
    const plan = operation.planFor(guarded.variables);
    return Reads.textOfNames(plan) ?? context.reads.text(plan, guarded.variables).then((data) => data ?? executeAll());
  };
  const executed = traceOperation(operation, () => inTime(context, work()));
  // Those that wait for the database get their results several at a time anyway.
  if (!(executed instanceof Promise)) await endOfTurn();
  const result = await executed;
  if (typeof result === 'string') {
    if (Buffer.byteLength(result) > MOST_BYTES) throw tooLarge(`${MOST_BYTES.toLocaleString('en')} bytes`);
    return `{"data":${result},"extensions":${JSON.stringify(extensions)}}`;
  }
  // An error without a path came up before anything was resolved.
  const early = result.errors?.some(({ path }) => path === undefined);
  return early ? null : { ...result, extensions };
}

let turn: Promise<void> | undefined;

/**
 * The end of this turn of the event loop, the same for all who wait for it, so that their answers go out together: half of
 * what a small answer costs is the system's, to wake its reader, and one who is awake needs no waking.
 */
function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) =>
    setImmediate(() => {
      turn = undefined;
      resolve();
    }),
  );
  return turn;
}

function textIn(asked: Params, { ctx }: GraphqlContext): string | undefined {
  try {
    return textOf(asked, ctx.services.config.TRUSTED_DOCUMENTS);
  } catch {
    return undefined;
  }
}

function prepareValid(query: string): Document | null {
  try {
    const document = prepare(query);
    return document.errors.length > 0 ? null : document;
  } catch {
    return null;
  }
}

function sendResult(res: Response, type: string, { errors, ...result }: ExecutionResult): void {
  const http = errors?.map(({ extensions }) => extensions.http as Http | undefined).find(Boolean);
  const wired = errors?.map(({ message, locations, path, extensions: { http: _, ...extensions } }) => ({
    message,
    locations,
    path,
    extensions,
  }));
  res.status(http?.status ?? 200).set(http?.headers ?? {});
  send(res, type, JSON.stringify(wired ? { errors: wired, ...result } : result));
}

function send(res: Response, type: string, text: string): void {
  res.setHeader('Content-Type', `${type}; charset=utf-8`);
  sendText(res, text);
}
