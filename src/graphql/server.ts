import type { Request, RequestHandler, Response } from 'express';
import { MethodNotAllowed, ValidationFailed } from '../core/errors.ts';
import { loadedOnce } from '../http/assets.ts';
import { closedOf } from '../http/connections/closed.ts';
import { readIdempotencyKey } from '../http/idempotency.ts';
import { localsOf } from '../http/locals.ts';
import { type HttpServices, openContext, payerOf } from '../http/request-context.ts';
import { chargeOnce } from './execution/charge.ts';
import { GraphqlContext } from './execution/context.ts';
import { earlyAnswer, noteCode } from './execution/errors.ts';
import { jsonRequests, RESPONSE } from './execution/json-requests.ts';
import { persistedDocuments } from './execution/persisted-documents.ts';
import { guards, shortRejection, wireErrors } from './execution/plugins.ts';
import { schema } from './schema/schema.ts';
import { bodyReader } from './transport/body.ts';
import { graphiql } from './transport/graphiql.ts';
import { ASSETS, sendGraphiqlAsset } from './transport/graphiql-assets.ts';
import { requirePreflight } from './transport/preflight.ts';
import { uploads } from './transport/uploads.ts';

const PATH = '/graphql';

/** The GraphQL API: GraphiQL for browsers, queries and mutations for everybody else, subscriptions as SSE. */
export function graphqlApi(services: HttpServices): RequestHandler {
  const showGraphiql = graphiql(services);
  const begin = opening(services);
  const answer = jsonRequests(services);
  const readUpload = uploads(services);
  const operate = operations(services);

  async function handle(req: Request, res: Response): Promise<unknown> {
    try {
      if (await showGraphiql(req, res)) return;
      requirePreflight(req);
      const context = await begin(req, res);
      requireMethod(req);
      if (await answer(req, res, context)) return;
      await readUpload(req, res);
      await operate(req, res, context);
    } catch (error) {
      answerError(error as Error, req, res, services.log);
    }
  }
  return (req, res, next) => {
    if (req.path === PATH || req.path === `${PATH}/`) return handle(req, res);
    return services.config.GRAPHIQL && req.path.startsWith(ASSETS) ? sendGraphiqlAsset(req, res) : next();
  };
}

/** graphql-sse begins its single connection mode by PUT. */
function requireMethod({ method }: Request): void {
  if (method === 'GET' || method === 'POST') return;
  const hint = ' Each subscription is a stream of its own (distinct connections); several share a WebSocket.';
  throw new MethodNotAllowed(method, ['GET', 'POST'], hint);
}

/** Who asks, before anything else is read; then what, where it is JSON. */
function opening(services: HttpServices) {
  const readBody = bodyReader(services);
  return async (req: Request, res: Response): Promise<GraphqlContext> => {
    localsOf(res).route = PATH;
    const ctx = await openContext(services, req, res);
    const context = new GraphqlContext({
      ctx,
      closed: () => closedOf(res, services.ending, ctx.caller),
      charge: chargeOnce(services.rateLimit, payerOf(ctx.caller, req), res),
      idempotencyKey: readIdempotencyKey(req.get('Idempotency-Key')),
      res,
    });
    await readBody(req, res);
    return context;
  };
}

/** Yoga has the document's way from text to answer; what is open to abuse in its defaults is off or ours. */
async function openYoga({ config, log }: HttpServices) {
  // Loaded when first used: it is a fifth of all modules, and nearly every request goes without it.
  const { createYoga } = await import('graphql-yoga');
  return createYoga<GraphqlContext>({
    schema,
    graphqlEndpoint: PATH,
    plugins: [persistedDocuments, guards, wireErrors(log), shortRejection],
    maxRequestBodySize: config.LIMIT_JSON_BYTES,
    parserAndValidationCache: false,
    maskedErrors: false,
    batching: false,
    multipart: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    logging: false,
  });
}

/** What jsonRequests leaves to Yoga. */
function operations(services: HttpServices) {
  const yoga = loadedOnce(() => openYoga(services));
  return async (req: Request, res: Response, context: GraphqlContext): Promise<void> => {
    // Yoga makes a URL of them; where it cannot, it answers with its stack.
    if (!URL.canParse(`${req.protocol}://${req.headers.host || 'localhost'}${req.originalUrl}`)) {
      throw new ValidationFailed([], 'The Host header and the address make no URL.');
    }
    const answer = await yoga();
    await answer(req, res, context);
  };
}

/** What goes wrong before Yoga has its turn looks like any other GraphQL answer. */
function answerError(error: Error, req: Request, res: Response, log: HttpServices['log']): void {
  if (res.headersSent) return void res.destroy();
  const type = req.get('Accept')?.includes(RESPONSE) ? RESPONSE : 'application/json';
  const { errors, status, headers } = earlyAnswer(error, localsOf(res).requestId, log);
  noteCode(res, errors);
  res.status(status).set(headers).type(type).send(JSON.stringify({ errors }));
}
