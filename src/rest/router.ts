import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import type { Context } from '../core/context.ts';
import { type DomainError, MethodNotAllowed, NotFound, Unauthenticated } from '../core/errors.ts';
import { refusalOf } from '../core/faults.ts';
import { once, type StoredAnswer } from '../core/idempotency.ts';
import { closedOf } from '../http/closed.ts';
import { readIdempotencyKey } from '../http/idempotency.ts';
import { jsonReader } from '../http/json-body.ts';
import { type HttpServices, openContext } from '../http/request-context.ts';
import { headersOf } from '../http/status.ts';
import { contractRoutes } from './contracts.ts';
import { eligibilityRoutes } from './eligibility.ts';
import { eventRoutes } from './events.ts';
import { fleetRoutes } from './fleets.ts';
import { importRoutes } from './imports.ts';
import { manufacturerRoutes } from './manufacturers.ts';
import { internalProblem, problemOf } from './problem.ts';
import type { Answer, RestRequest, Route } from './route.ts';
import { vehicleRoutes } from './vehicles.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every REST operation. Fixed paths stand before those with a parameter in their place. */
export const routes: readonly Route[] = [
  ...fleetRoutes,
  ...eligibilityRoutes,
  ...importRoutes,
  ...vehicleRoutes,
  ...contractRoutes,
  ...manufacturerRoutes,
  ...eventRoutes,
  ...webhookRoutes,
];

/** The REST face: all routes, 405 for their other methods, 404 for the rest, problem+json for every refusal. */
export function restRouter(services: HttpServices): Router {
  const router = Router({ caseSensitive: true });
  const readJson = jsonReader(services.config.LIMIT_JSON_BYTES);
  const needsToken = ({ token }: Route) =>
    token === undefined || (token === 'optional' && services.config.CONTRACTS_AUTH === 'required');
  for (const [path, same] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of same) {
      const method = route.method.toLowerCase() as Lowercase<Route['method']>;
      router[method](path, async (req, res) => {
        res.locals.route = path;
        const ctx = await openContext(services, req, res);
        if (!ctx.caller && needsToken(route)) throw new Unauthenticated('This needs a bearer token.', null);
        if (route.body === 'json') req.body = await readJson(req, res);
        await send(res, await answerOnce(ctx, route, req, res, services.ending));
      });
    }
    const methods = same.map((route) => route.method);
    const allow = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
    router.options(
      path,
      (_req, res) =>
        void res
          .set('Allow', [...allow, 'OPTIONS'].join(', '))
          .status(204)
          .end(),
    );
    // Before the next path: a fixed one also fits the pattern with a parameter in its place.
    router.all(path, (req) => {
      throw new MethodNotAllowed(req.method, allow);
    });
  }
  router.use(() => {
    throw new NotFound('There is nothing at this address.');
  });
  router.use(problems(services));
  return router;
}

async function answerOnce(
  ctx: Context,
  route: Route,
  req: Request,
  res: Response,
  ending: AbortSignal,
): Promise<Answer> {
  const request = requestOf(ctx, req, res, ending);
  const key =
    route.method === 'POST' && route.body !== 'upload' ? readIdempotencyKey(req.get('Idempotency-Key')) : undefined;
  if (key === undefined) return route.answer(ctx, request);
  const asked = createHash('sha256')
    .update(`${route.method} ${req.originalUrl} ${res.locals.digest ?? ''}`)
    .digest('hex');
  const { status, headers, body } = await once(ctx, key, asked, async () => stored(await route.answer(ctx, request)));
  return { status, headers, ...(body && { json: body }) };
}

const stored = ({ status, headers, body }: Answer): StoredAnswer => ({
  status,
  headers: headers ?? {},
  body: body === undefined ? '' : JSON.stringify(body),
});

function requestOf(ctx: Context, req: Request, res: Response, ending: AbortSignal): RestRequest {
  return {
    params: req.params as Record<string, string>,
    query: req.query,
    body: req.body,
    get signal() {
      return closedOf(res, ending, ctx.caller);
    },
    incoming: req,
    header: (name) => req.get(name),
  };
}

async function send(res: Response, { status, headers, body, json, stream }: Answer): Promise<void> {
  res.status(status).set(headers ?? {});
  const text = json ?? (body === undefined ? undefined : JSON.stringify(body));
  if (stream) {
    res.type(stream.type);
    await pipeline(Readable.from(stream.pieces), res).catch((error: NodeJS.ErrnoException) => {
      // A reader that leaves is no fault.
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
    });
    return;
  }
  if (text !== undefined)
    res.set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(Buffer.byteLength(text)) });
  res.end(text);
}

/** Every refusal and fault as problem+json. */
export function problems({ log }: HttpServices): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const { requestId } = res.locals;
    const refusal = refusalOf(error) ?? refusalOfHttp(error);
    res.locals.code = refusal?.code ?? 'INTERNAL';
    if (!refusal) log.error({ requestId, err: error }, 'request failed');
    else if (refusal.code === 'UNAVAILABLE') log.warn({ requestId, err: refusal.cause }, refusal.message);
    // A list that breaks off in the middle must not look complete.
    if (res.headersSent) return void res.destroy();
    const problem = refusal ? problemOf(refusal, requestId) : internalProblem(requestId);
    if (refusal) res.set(headersOf(refusal));
    res.status(Number(problem.status)).type('application/problem+json').send(JSON.stringify(problem));
  };
}

/** What Express itself refuses: an address that cannot be decoded. */
const refusalOfHttp = (error: unknown): DomainError | null =>
  error instanceof URIError ? new NotFound('There is nothing at this address.') : null;
