import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import express, { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import type { Context } from '../core/context.ts';
import {
  type DomainError,
  MalformedJson,
  MethodNotAllowed,
  NotFound,
  PayloadTooLarge,
  Unauthenticated,
  UnsupportedMediaType,
} from '../core/errors.ts';
import { refusalOf } from '../core/faults.ts';
import { once, type StoredAnswer } from '../core/idempotency.ts';
import { readIdempotencyKey } from '../http/idempotency.ts';
import { type HttpServices, openContext } from '../http/request-context.ts';
import { headersOf } from '../http/status.ts';
import { contractRoutes } from './contracts.ts';
import { eligibilityRoutes } from './eligibility.ts';
import { fleetRoutes } from './fleets.ts';
import { importRoutes } from './imports.ts';
import { manufacturerRoutes } from './manufacturers.ts';
import { internalProblem, problemOf } from './problem.ts';
import type { Answer, RestRequest, Route } from './route.ts';
import { vehicleRoutes } from './vehicles.ts';

/** Every REST operation. Fixed paths stand before those with a parameter in their place. */
export const routes: readonly Route[] = [
  ...fleetRoutes,
  ...eligibilityRoutes,
  ...importRoutes,
  ...vehicleRoutes,
  ...contractRoutes,
  ...manufacturerRoutes,
];

/** The REST face: all routes, 405 for their other methods, 404 for the rest, problem+json for every refusal. */
export function restRouter(services: HttpServices): Router {
  const router = Router({ caseSensitive: true });
  const json = express.json({
    limit: services.config.LIMIT_JSON_BYTES,
    strict: false,
    type: isJson,
    verify: keepDigest,
  });
  for (const [path, same] of Map.groupBy(routes, (route) => route.path)) {
    for (const route of same) {
      const method = route.method.toLowerCase() as Lowercase<Route['method']>;
      router[method](path, async (req, res) => {
        res.locals.route = path;
        const ctx = await openContext(services, req, res);
        if (!ctx.caller && !route.token) throw new Unauthenticated('This needs a bearer token.', null);
        if (route.body === 'json') await readBody(json, req, res);
        await send(res, await answerOnce(ctx, route, req, res));
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

const isJson = (req: { headers: { 'content-type'?: string | undefined } }) =>
  /^application\/(?:[\w.-]+\+)?json\b/i.test(req.headers['content-type'] ?? '');

/** The digest of the body as it came, to tell a repeated request from another one with the same Idempotency-Key. */
function keepDigest(_req: unknown, res: object, body: Buffer): void {
  (res as Response).locals.digest = createHash('sha256').update(body).digest('hex');
}

async function readBody(json: express.RequestHandler, req: Request, res: Response): Promise<void> {
  const empty =
    req.headers['content-length'] === '0' || (!req.headers['content-length'] && !req.headers['transfer-encoding']);
  if (empty) return;
  if (!isJson(req)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  json(req, res, (error?: unknown) => (error ? reject(error) : resolve()));
  await promise;
}

async function answerOnce(ctx: Context, route: Route, req: Request, res: Response): Promise<Answer> {
  const request = requestOf(req, res);
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

function requestOf(req: Request, res: Response): RestRequest {
  return {
    params: req.params as Record<string, string>,
    query: req.query,
    body: req.body,
    get signal() {
      const gone = new AbortController();
      res.once('close', () => gone.abort());
      return gone.signal;
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
    await pipeline(Readable.from(stream.pieces), res);
    return;
  }
  if (text !== undefined)
    res.set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(Buffer.byteLength(text)) });
  res.end(text);
}

function problems({ log }: HttpServices): ErrorRequestHandler {
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

/** What Express and its body parser refuse, in our words. */
function refusalOfHttp(error: unknown): DomainError | null {
  if (!(error instanceof Error) || !('status' in error)) return null;
  const { type, limit } = error as { type?: string; limit?: number };
  if (error instanceof URIError) return new NotFound('There is nothing at this address.');
  if (error.status === 413) return new PayloadTooLarge(`The body is larger than ${limit} bytes.`);
  if (error.status === 415)
    return new UnsupportedMediaType(`The body is encoded in a way that is not understood: ${error.message}.`);
  if (type === 'entity.parse.failed') return new MalformedJson(`The body is not JSON: ${error.message}.`);
  if (error.status === 400) return new MalformedJson('The body could not be read.');
  return null;
}
