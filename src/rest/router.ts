import { hash } from 'node:crypto';
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { digestOfValues, runOncePerKey } from '../core/companies/idempotency.ts';
import { type Context, requireCaller, requireScope } from '../core/context.ts';
import { runChangeInTurn } from '../core/database.ts';
import { domainErrorOf } from '../core/database-errors.ts';
import { DomainError, type ErrorCode, MethodNotAllowed, NotFound, statusOf } from '../core/errors.ts';
import { countInputItems } from '../core/input.ts';
import {
  headersOf,
  jsonReader,
  passAtOnce,
  preferredOf,
  REPLAYED,
  readIdempotencyKey,
  sendPieces,
  sendText,
} from '../http/body.ts';
import { closedOf, leftOf } from '../http/connections/closed.ts';
import { basePathOf, endOf, type HttpServices, localsOf, openContext } from '../http/request-context.ts';
import { companyRoutes } from './company.ts';
import { contractRoutes } from './contracts.ts';
import { eligibilityRoutes } from './eligibility.ts';
import { hasTag, tagOf } from './etag.ts';
import { eventRoutes } from './events.ts';
import { fleetRoutes } from './fleets.ts';
import { importRoutes } from './imports.ts';
import { manufacturerRoutes } from './manufacturers.ts';
import type { Answer, RestRequest, Route } from './route.ts';
import { searchRoutes } from './search.ts';
import { vehicleRoutes } from './vehicles.ts';
import { webhookRoutes } from './webhooks.ts';

/** Every REST operation. Fixed paths come before those with a parameter, since the first match answers. */
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

/** The REST API: all routes, and 405 for their other methods; problem+json for every error. */
export function restApi(services: HttpServices): RequestHandler {
  const router = Router({ caseSensitive: true });
  const readJson = jsonReader(services.config.LIMIT_JSON_BYTES);
  const needsToken = ({ token }: Route) => token !== 'optional' || services.config.CONTRACTS_AUTH === 'required';

  async function answer(route: Route, req: Request, res: Response): Promise<void> {
    localsOf(res).route = route.path;
    const ctx = await openContext(services, req, res);
    if (needsToken(route)) requireCaller(ctx);
    // Core checks scopes too, but only after the body is read and stored answers are looked up.
    requireScope(ctx, route.scope);
    const request: RestRequest = {
      route,
      path: req.path,
      basePath: () => basePathOf(services, req),
      params: req.params as RestRequest['params'],
      query: req.query,
      body: route.body && !route.files ? await readJson(req, res) : undefined,
      expected: expectedBy(req.get('If-Match'), route),
      left: () => leftOf(res),
      closed: (longestMs) => closedOf(res, endOf(services, ctx.caller), ctx.caller, longestMs),
      incoming: req,
      header: (name) => req.get(name),
      accepts: (types) => preferredOf(req, types) ?? types[0],
    };
    await services.fairness.turns.next(ctx.caller?.company ?? '');
    const work = () => answerOnce(ctx, route, request, res);
    await send(res, request, await runChangeInTurn(ctx, countInputItems(request.body), work));
  }

  for (const [path, same] of Map.groupBy(routes, (route) => route.path)) {
    const methods = same.map(({ method }) => method);
    const allow = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
    router.all(path, (req, res) => {
      const wanted = req.method === 'HEAD' ? 'GET' : req.method;
      const route = same.find(({ method }) => method === wanted);
      if (route) return answer(route, req, res);
      if (req.method !== 'OPTIONS') throw new MethodNotAllowed(req.method, allow);
      res.set('Allow', [...allow, 'OPTIONS'].join(', '));
      res.status(204).end();
    });
  }
  return router;
}

const expectedBy = (header: string | undefined, { copy }: Route): RestRequest['expected'] =>
  header === undefined ? undefined : (current) => hasTag(header, tagOf(JSON.stringify(copy(current))));

interface SentAnswer extends Omit<Answer, 'body'> {
  status: number;
  headers: Record<string, string>;
}

async function answerOnce(ctx: Context, route: Route, request: RestRequest, res: Response): Promise<SentAnswer> {
  const repeatable = route.method === 'POST' && !route.files;
  const key = repeatable ? readIdempotencyKey(request.header('Idempotency-Key')) : undefined;
  if (key === undefined) return answerBy(route, ctx, request);
  const { method } = route;
  const { originalUrl } = res.req;
  const digest = {
    request: digestOfValues(method, originalUrl, request.body ?? null),
    former: hash('sha256', `${method} ${originalUrl} ${localsOf(res).digest ?? ''}`),
  };
  const { outcome, repeated } = await runOncePerKey(ctx, key, digest, async () => {
    const { status, headers, text = '' } = await answerBy(route, ctx, request);
    return { status, headers, body: text };
  });
  if (repeated) res.setHeader(REPLAYED, 'true');
  if (outcome instanceof DomainError) throw outcome;
  const { status, headers, body } = outcome;
  return { status, headers, ...(body && { text: body }) };
}

async function answerBy(route: Route, ctx: Context, request: RestRequest): Promise<SentAnswer> {
  const { body, headers = {}, ...answer } = await route.answer(ctx, request);
  const status = Number(Object.keys(route.answers)[0]);
  const whole = { status, headers, text: JSON.stringify(body), ...answer };
  if (!route.etag || route.method === 'DELETE') return whole;
  const tag = headers.ETag ?? tagOf(whole.text);
  headers.ETag = tag;
  const isKnown = route.method === 'GET' && hasTag(request.header('If-None-Match') ?? '', tag);
  return isKnown ? { status: 304, headers } : whole;
}

async function send(res: Response, request: RestRequest, answer: SentAnswer): Promise<void> {
  const { status, headers, text, stream } = answer;
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'Vary') res.vary(value);
    else if (name === 'Location' || name === 'Link')
      res.setHeader(name, value.replace(/^<?/, `$&${request.basePath()}`));
    else res.setHeader(name, value);
  }
  if (stream) {
    passAtOnce(res.type(stream.type));
    // The other pages of a list, and events, are read as they are sent.
    return sendPieces(res, res.req.method === 'HEAD' ? [] : stream.pieces);
  }
  if (text === undefined) return void res.end();
  if (!res.hasHeader('Content-Type')) res.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendText(res, text);
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
    // An incomplete list must not look complete.
    if (res.headersSent) return void res.destroy();
    const problem = problemOf(domainError, requestId);
    if (domainError) res.set(headersOf(domainError));
    res.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
  };
}

/** Titles for codes that read badly as words. */
const titles: Partial<Record<ErrorCode, string>> = {
  MALFORMED_JSON: 'The body is not JSON',
  INTERNAL: 'Something went wrong on our side',
};

const internal = {
  code: 'INTERNAL',
  message: 'The fault has been logged with this request id. Nothing of your request was lost that was answered before.',
  errors: undefined,
  errorsOmitted: 0,
  details: {},
} as const;

/** An error as RFC 9457 wants it; null is a fault of the service. */
export function problemOf(error: DomainError | null, requestId: string) {
  const { code, message, errors, errorsOmitted, details } = error ?? internal;
  return {
    type: 'about:blank',
    title: titles[code] ?? code[0] + code.slice(1).toLowerCase().replaceAll('_', ' '),
    status: statusOf[code],
    detail: message,
    code,
    requestId,
    ...(errors?.length && { errors }),
    ...(errorsOmitted > 0 && { errorsOmitted }),
    ...details,
  };
}
