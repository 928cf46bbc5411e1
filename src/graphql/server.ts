import type { Request, RequestHandler, Response } from 'express';
import { MethodNotAllowed, UnsupportedMediaType, ValidationFailed } from '../core/errors.ts';
import { isJson, jsonReader, readIdempotencyKey } from '../http/body.ts';
import { closedOf } from '../http/connections/closed.ts';
import { type HttpServices, localsOf, openContext, payerOf } from '../http/request-context.ts';
import { chargeCost, type OperationRequest } from './execution/context.ts';
import { refusal, type Shown } from './execution/errors.ts';
import { ASSETS, graphiql, sendGraphiqlAsset } from './transport/graphiql.ts';
import { answerPlainJson, RESPONSE, send } from './transport/plain-json.ts';
import { uploads } from './transport/upload.ts';
import { yoga } from './transport/yoga.ts';

const PATH = '/graphql';

/** Content types that a page of another site can send without a preflight; a missing type counts as one. */
const SIMPLE = /^(?:$|multipart\/form-data|application\/x-www-form-urlencoded|text\/plain)/i;
const KNOWN = /^(?:multipart\/form-data|application\/(?:json|graphql\+json|graphql|x-www-form-urlencoded))(?:\s*;|$)/i;
/** Any of them makes the browser ask first, which other sites are denied. */
const PROOFS = ['authorization', 'x-graphql-yoga-csrf', 'apollo-require-preflight', 'graphql-require-preflight'];

/** The GraphQL API: GraphiQL for browsers, queries and mutations for everybody else, subscriptions as SSE. */
export function graphqlApi(services: HttpServices): RequestHandler {
  const showGraphiql = graphiql(services);
  const open = opening(services);
  const readBody = bodyReader(services);
  const answerByYoga = yoga(services);

  async function handle(req: Request, res: Response): Promise<unknown> {
    try {
      if (req.method === 'GET' && (await showGraphiql(req, res))) return;
      requirePreflight(req);
      const exchange = { request: await open(req, res) };
      requireMethod(req);
      await readBody(req, res);
      if (await answerPlainJson(req, res, exchange)) return;
      await answerByYoga(req, res, exchange);
    } catch (error) {
      answerError(error as Error, req, res, { res, log: services.log, hints: services.config.INTROSPECTION });
    }
  }
  return (req, res, next) => {
    if (req.path === PATH || req.path === `${PATH}/`) return handle(req, res);
    return services.config.GRAPHIQL && req.path.startsWith(ASSETS) ? sendGraphiqlAsset(req, res) : next();
  };
}

/** Authenticates the caller before anything else is read. */
function opening(services: HttpServices) {
  const { rateLimit, ending, log, config } = services;
  return async (req: Request, res: Response): Promise<OperationRequest> => {
    localsOf(res).route = PATH;
    const ctx = await openContext(services, req, res);
    return {
      ctx,
      closed: () => closedOf(res, ending, ctx.caller),
      charge: (cost) => chargeCost(rateLimit, payerOf(ctx.caller, req), cost, res),
      idempotencyKey: readIdempotencyKey(req.get('Idempotency-Key')),
      mayChange: req.method === 'POST',
      res,
      log,
      hints: config.INTROSPECTION,
    };
  };
}

/** graphql-sse begins its single connection mode by PUT. */
function requireMethod({ method }: Request): void {
  if (method === 'GET' || method === 'POST') return;
  const hint = ' Each subscription is a stream of its own (distinct connections); several share a WebSocket.';
  throw new MethodNotAllowed(method, ['GET', 'POST'], hint);
}

/** Rejects what another site could have a browser send in the name of its user, and bodies nobody here can read. */
function requirePreflight(req: Request): void {
  if (req.method !== 'POST') return;
  const type = req.headers['content-type'] ?? '';
  if (SIMPLE.test(type) && !PROOFS.some((name) => name in req.headers)) {
    throw new ValidationFailed(
      [],
      `A POST of this content type needs one of the headers ${PROOFS.join(', ')}, so that no other site can send it.`,
    );
  }
  if (!KNOWN.test(type)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
}

/** Reads the body into `req.body` for every transport: JSON, or a multipart request up to its first file. */
function bodyReader(services: HttpServices): (req: Request, res: Response) => Promise<void> {
  const readJson = jsonReader(services.config.LIMIT_JSON_BYTES);
  const readUpload = uploads(services);
  return async (req, res) => {
    if (req.method !== 'POST') return;
    if (isJson(req.headers['content-type'])) req.body = operationIn(await readJson(req, res));
    else if (await readUpload(req, res)) req.body = operationIn(req.body);
  };
}

const MEMBERS = ['query', 'variables', 'operationName', 'extensions'];

/**
 * The members of an operation in a body; clients may send others, which mean nothing here. Throws ValidationFailed for what
 * has none of them: Yoga could not tell some such bodies from one that is still to be read.
 */
function operationIn(body: unknown): Record<string, unknown> {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const given = (isObject ? body : {}) as Record<string, unknown>;
  const operation: Record<string, unknown> = {};
  for (const name of MEMBERS) if (Object.hasOwn(given, name)) operation[name] = given[name];
  if (Object.keys(operation).length > 0) return operation;
  throw new ValidationFailed([], 'Send one operation: a JSON object with the member "query".');
}

/** Answers an error from before execution like any other GraphQL error. */
function answerError(error: Error, req: Request, res: Response, shown: Shown): void {
  if (res.headersSent) return void res.destroy();
  const type = req.get('Accept')?.includes(RESPONSE) ? RESPONSE : 'application/json';
  send(res, type, refusal(error, shown));
}
