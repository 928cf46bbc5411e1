import type { Request, RequestHandler, Response } from 'express';
import { MethodNotAllowed } from '../core/errors.ts';
import { readIdempotencyKey } from '../http/body.ts';
import { closedOf } from '../http/connections/closed.ts';
import { type HttpServices, localsOf, openContext, payerOf } from '../http/request-context.ts';
import { chargeCost } from './execution/context.ts';
import { earlyResult } from './execution/errors.ts';
import type { OperationRequest } from './execution/run.ts';
import { graphiql } from './transport/graphiql.ts';
import { ASSETS, sendGraphiqlAsset } from './transport/graphiql-assets.ts';
import { answerPlainJson, RESPONSE, send } from './transport/plain-json.ts';
import { bodyReader, requirePreflight, uploads } from './transport/request.ts';
import { yoga } from './transport/yoga.ts';

const PATH = '/graphql';

/** The GraphQL API: GraphiQL for browsers, queries and mutations for everybody else, subscriptions as SSE. */
export function graphqlApi(services: HttpServices): RequestHandler {
  const showGraphiql = graphiql(services);
  const open = opening(services);
  const readBody = bodyReader(services);
  const readUpload = uploads(services);
  const answerByYoga = yoga(services);

  async function handle(req: Request, res: Response): Promise<unknown> {
    try {
      if (req.method === 'GET' && (await showGraphiql(req, res))) return;
      requirePreflight(req);
      const exchange = { request: await open(req, res) };
      requireMethod(req);
      await readBody(req, res);
      await readUpload(req, res);
      if (await answerPlainJson(req, res, exchange)) return;
      await answerByYoga(req, res, exchange);
    } catch (error) {
      answerError(error as Error, req, res, services.log);
    }
  }
  return (req, res, next) => {
    if (req.path === PATH || req.path === `${PATH}/`) return handle(req, res);
    return services.config.GRAPHIQL && req.path.startsWith(ASSETS) ? sendGraphiqlAsset(req, res) : next();
  };
}

/** Who asks, before anything else is read. */
function opening(services: HttpServices) {
  const { rateLimit, ending, log } = services;
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
    };
  };
}

/** graphql-sse begins its single connection mode by PUT. */
function requireMethod({ method }: Request): void {
  if (method === 'GET' || method === 'POST') return;
  const hint = ' Each subscription is a stream of its own (distinct connections); several share a WebSocket.';
  throw new MethodNotAllowed(method, ['GET', 'POST'], hint);
}

/** What goes wrong before anything is run looks like any other GraphQL answer. */
function answerError(error: Error, req: Request, res: Response, log: HttpServices['log']): void {
  if (res.headersSent) return void res.destroy();
  const type = req.get('Accept')?.includes(RESPONSE) ? RESPONSE : 'application/json';
  send(res, type, earlyResult(error, res, log));
}
