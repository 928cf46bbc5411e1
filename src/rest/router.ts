import { createHash } from 'node:crypto';
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { type Context, needScope } from '../core/context.ts';
import { domainErrorOf } from '../core/database-errors.ts';
import { DomainError, MethodNotAllowed, NotFound, Unauthenticated } from '../core/errors.ts';
import { once, type StoredAnswer } from '../core/idempotency.ts';
import { headersOf, jsonReader, REPLAYED, readIdempotencyKey, sendPiece, sendText } from '../http/body.ts';
import { closedOf, leftOf } from '../http/connections/closed.ts';
import { type HttpServices, localsOf, openContext } from '../http/request-context.ts';
import { companyRoutes } from './company.ts';
import { contractRoutes } from './contracts.ts';
import { eligibilityRoutes } from './eligibility.ts';
import { eventRoutes } from './events.ts';
import { fleetRoutes } from './fleets.ts';
import { importRoutes } from './imports.ts';
import { manufacturerRoutes } from './manufacturers.ts';
import { internalProblem, problemOf } from './problem.ts';
import type { Answer, RestRequest, Route } from './route.ts';
import { searchRoutes } from './search.ts';
import { vehicleRoutes } from './vehicles.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every REST operation. Fixed paths stand before those with a parameter in their place, since the first that fits answers. */
export const routes: readonly Route[] = [
  ...fleetRoutes,
  ...eligibilityRoutes,
  ...importRoutes,
  ...vehicleRoutes,
  ...contractRoutes,
  ...searchRoutes,
  ...companyRoutes,
  ...manufacturerRoutes,
  ...eventRoutes,
  ...webhookRoutes,
];

/** The methods that an address has. */
interface Place {
  path: string;
  routes: ReadonlyMap<string, Route>;
  allow: readonly string[];
}

/** The places of all routes. */
function* places(): Generator<Place> {
  for (const [path, same] of Map.groupBy(routes, (route) => route.path)) {
    const methods = same.map(({ method }) => method);
    const byMethod = new Map<string, Route>(same.map((route) => [route.method, route]));
    const get = byMethod.get('GET');
    if (get) byMethod.set('HEAD', get);
    yield { path, routes: byMethod, allow: get ? [...methods, 'HEAD'] : methods };
  }
}

/** The REST API: all routes, and 405 for their other methods; problem+json for every error. */
export function restApi(services: HttpServices): RequestHandler {
  const router = Router({ caseSensitive: true });
  const readJson = jsonReader(services.config.LIMIT_JSON_BYTES);
  const needsToken = ({ token }: Route) => token !== 'optional' || services.config.CONTRACTS_AUTH === 'required';

  async function answer(place: Place, req: Request, res: Response): Promise<void> {
    const route = place.routes.get(req.method);
    if (!route && req.method === 'OPTIONS') {
      return void res
        .set('Allow', [...place.allow, 'OPTIONS'].join(', '))
        .status(204)
        .end();
    }
    if (!route) throw new MethodNotAllowed(req.method, place.allow);
    localsOf(res).route = place.path;
    const ctx = await openContext(services, req, res);
    if (!ctx.caller && needsToken(route)) throw new Unauthenticated('This needs a bearer token.', null);
    // In core, too, but here before anything answers: the body's reader, or what is remembered of an earlier request.
    needScope(ctx, route.scope);
    const request: RestRequest = {
      params: req.params as RestRequest['params'],
      query: req.query,
      body: route.body && !route.files ? await readJson(req, res) : undefined,
      left: () => leftOf(res),
      closed: (longestMs) => closedOf(res, services.ending, ctx.caller, longestMs),
      incoming: req,
      header: (name) => req.get(name),
      accepts: (types) => preferredOf(req, types),
    };
    await services.turns.next(ctx.caller?.company ?? '');
    await send(res, await answerOnce(ctx, route, request, res));
  }

  for (const place of places()) router.all(place.path, (req, res) => answer(place, req, res));
  return router;
}

/** `charset` and the like are nothing to choose by, but Express takes a type that has them for another one. */
const PARAMETERS = /;(?!\s*q\s*=)[^;,]*/gi;

function preferredOf<Type extends string>(req: Request, types: readonly [Type, ...Type[]]): Type {
  if (req.headers.accept) req.headers.accept = req.headers.accept.replaceAll(PARAMETERS, '');
  const found = req.accepts([...types]);
  return types.find((type) => type === found) ?? types[0];
}

async function answerOnce(ctx: Context, route: Route, request: RestRequest, res: Response): Promise<Answer> {
  const repeatable = route.method === 'POST' && !route.files;
  const key = repeatable ? readIdempotencyKey(request.header('Idempotency-Key')) : undefined;
  if (key === undefined) return route.answer(ctx, request);
  const asked = createHash('sha256')
    .update(`${route.method} ${res.req.originalUrl} ${localsOf(res).digest ?? ''}`)
    .digest('hex');
  const { outcome, repeated } = await once(ctx, key, asked, async () => stored(await route.answer(ctx, request)));
  if (repeated) res.setHeader(REPLAYED, 'true');
  if (outcome instanceof DomainError) throw outcome;
  const { status, headers, body } = outcome;
  return { status, headers, ...(body && { text: body }) };
}

const stored = ({ status, headers, body, text }: Answer): StoredAnswer => ({
  status,
  headers: headers ?? {},
  body: text ?? (body === undefined ? '' : JSON.stringify(body)),
});

async function send(res: Response, { status, headers, body, stream, ...answer }: Answer): Promise<void> {
  res.statusCode = status;
  for (const name in headers) {
    if (name === 'Vary') res.vary(headers[name] as string);
    else res.setHeader(name, headers[name] as string);
  }
  if (stream) {
    res.type(stream.type);
    return pour(stream.pieces, res);
  }
  const text = answer.text ?? (body === undefined ? undefined : JSON.stringify(body));
  if (text === undefined) return void res.end();
  if (!res.hasHeader('Content-Type')) res.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendText(res, text);
}

/** Sends pieces as they come and are taken; ends early where nobody takes them any more, which is no error. */
async function pour(pieces: AsyncIterable<string>, res: Response): Promise<void> {
  for await (const piece of pieces) {
    if (res.destroyed) return;
    await sendPiece(res, piece);
  }
  if (!res.destroyed) res.end();
}

/** Every error as problem+json. */
export function problems({ log }: HttpServices): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const { requestId } = localsOf(res);
    // An address that the router cannot decode, such as /fleets/%ff.
    const isNowhere = error instanceof URIError;
    const domainError = isNowhere ? new NotFound('There is nothing at this address.') : domainErrorOf(error);
    localsOf(res).code = domainError?.code ?? 'INTERNAL';
    if (!domainError) log.error({ requestId, err: error }, 'request failed');
    else if (domainError.code === 'UNAVAILABLE') log.warn({ requestId, err: domainError.cause }, domainError.message);
    // A list that breaks off in the middle must not look complete.
    if (res.headersSent) return void res.destroy();
    const problem = domainError ? problemOf(domainError, requestId) : internalProblem(requestId);
    if (domainError) res.set(headersOf(domainError));
    res.status(Number(problem.status)).type('application/problem+json').send(JSON.stringify(problem));
  };
}
