import type { Request, RequestHandler, Response } from 'express';
import { type ExecutionResult, GraphQLError } from 'graphql';
import { MethodNotAllowed, UnsupportedMediaType, ValidationFailed } from '../core/errors.ts';
import {
  isJson,
  jsonReader,
  parseJson,
  passAtOnce,
  preferredOf,
  readIdempotencyKey,
  sendText,
  textReader,
} from '../http/body.ts';
import { closedOf } from '../http/connections/closed.ts';
import { endOf, type HttpServices, localsOf, openContext, payerOf } from '../http/request-context.ts';
import { errorResult, httpStatusAndHeaders, resultWithoutHttp } from './execution/result-errors.ts';
import { isResultStream, runOperation } from './execution/run-operation.ts';
import type { OperationRequest } from './schema/graphql-context.ts';
import { sendGraphiql } from './transport/graphiql.ts';
import { readUpload } from './transport/upload.ts';
import { ANSWER_TYPES, JSON_TYPES, RESULT_TYPES, requireUrl, yogaHandler } from './transport/yoga.ts';

export { graphiqlRouter } from './transport/graphiql.ts';

const PATH = '/graphql';

/** Content types that a page of another site can send without a preflight; a missing type counts as one. */
const SIMPLE = /^(?:$|multipart\/form-data|application\/x-www-form-urlencoded|text\/plain)/i;
const KNOWN = /^(?:multipart\/form-data|application\/(?:json|graphql\+json|graphql|x-www-form-urlencoded))(?:\s*;|$)/i;
/** Headers for which browsers send a preflight first. */
const PROOFS = ['authorization', 'x-graphql-yoga-csrf', 'apollo-require-preflight', 'graphql-require-preflight'];

/** The GraphQL API: GraphiQL for browsers, queries and mutations, subscriptions as SSE. */
export function graphqlApi(services: HttpServices): RequestHandler {
  const { config } = services;
  const readJson = jsonReader(config.LIMIT_JSON_BYTES);
  const readText = textReader(config.LIMIT_JSON_BYTES);
  const answerByYoga = yogaHandler();

  async function handle(req: Request, res: Response): Promise<unknown> {
    try {
      if (config.GRAPHIQL && isBrowser(req)) return await sendGraphiql(services, req, res);
      requirePreflight(req);
      const request = await openRequest(services, req, res);
      requireMethod(req);
      const sent = await readOperation(req, res);
      // Before the operation: Yoga finds only afterwards that it has no form for the answer.
      const type = preferredOf(req, RESULT_TYPES);
      if (!type && !preferredOf(req, ANSWER_TYPES))
        return void res.status(406).set('Accept', ANSWER_TYPES.join(', ')).end();
      const json = JSON_TYPES.find((one) => one === type);
      if (!json) requireUrl(req);
      const outcome = await runOperation(sent, request);
      // Yoga costs several times as much as a small query.
      if (json && !isResultStream(outcome)) return sendJson(res, json, outcome);
      if (json && !preferredOf(req, ['text/event-stream'])) throw eventsOnly();
      passAtOnce(res);
      await answerByYoga(req, res, outcome);
    } catch (error) {
      if (res.headersSent) return void res.destroy();
      const type = preferredOf(req, JSON_TYPES) ?? JSON_TYPES[0];
      sendJson(res, type, errorResult(error as Error, { services, res }));
    }
  }

  /** The operation in the address or the body, of a multipart request up to its first file. */
  async function readOperation(req: Request, res: Response): Promise<unknown> {
    if (req.method === 'GET') return operationInForm(req.originalUrl.split(/\?(.*)/s)[1]);
    if (isJson(req.headers['content-type'])) return readJson(req, res);
    if (req.is('multipart/form-data')) return readUpload(req, res, config.LIMIT_JSON_BYTES);
    const text = await readText(req, res);
    return req.is('application/graphql') ? { query: text } : operationInForm(text);
  }

  return (req, res, next) => (req.path === PATH || req.path === `${PATH}/` ? handle(req, res) : next());
}

function sendJson(res: Response, type: string, outcome: string | ExecutionResult): void {
  if (typeof outcome !== 'string') {
    const { status, headers = {} } = httpStatusAndHeaders(outcome.errors, type);
    res.status(status).set(headers);
  }
  res.setHeader('Content-Type', `${type}; charset=utf-8`);
  sendText(res, typeof outcome === 'string' ? outcome : JSON.stringify(resultWithoutHttp(outcome)));
}

/** Yoga's 406 has no text, and clients of JSON that subscribe are many. */
function eventsOnly(): GraphQLError {
  const message = 'must have text/event-stream for a subscription, which may also go by WebSocket';
  return new GraphQLError(message, {
    originalError: new ValidationFailed([{ path: 'Accept', code: 'INVALID_VALUE', message }]),
    extensions: { http: { status: 406, headers: { Accept: 'text/event-stream' } } },
  });
}

const isBrowser = (req: Request) => req.method === 'GET' && req.get('Accept')?.includes('text/html');

/** Authenticates the caller before the body is read. */
async function openRequest(services: HttpServices, req: Request, res: Response): Promise<OperationRequest> {
  localsOf(res).route = PATH;
  const ctx = await openContext(services, req, res);
  return {
    services,
    ctx,
    res,
    closed: () => closedOf(res, endOf(services, ctx.caller), ctx.caller),
    payer: payerOf(ctx.caller, req),
    idempotencyKey: readIdempotencyKey(req.get('Idempotency-Key')),
    mayChange: req.method === 'POST',
  };
}

/** graphql-sse begins its single connection mode by PUT. */
function requireMethod({ method }: Request): void {
  if (method === 'GET' || method === 'POST') return;
  const hint = ' Each subscription is a stream of its own (distinct connections); several share a WebSocket.';
  throw new MethodNotAllowed(method, ['GET', 'POST'], hint);
}

/** Rejects POSTs that another site's page could send in its user's name, and unreadable bodies. */
function requirePreflight(req: Request): void {
  if (req.method !== 'POST') return;
  const type = req.headers['content-type'] ?? '';
  if (SIMPLE.test(type) && !PROOFS.some((name) => name in req.headers)) {
    const headers = PROOFS.join(', ');
    const message = `A POST of this content type needs one of the headers ${headers}, so that no other site can send it.`;
    throw new ValidationFailed([], message);
  }
  if (!KNOWN.test(type)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
}

/** The operation of a form, or of a query string. Throws MalformedJson. */
function operationInForm(form: string | undefined): Record<string, unknown> {
  const members = new URLSearchParams(form);
  const text = (name: string) => members.get(name) || null;
  const json = (name: string) => parseJson(text(name) ?? 'null', `The parameter "${name}"`);
  return {
    query: text('query'),
    operationName: text('operationName'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}
