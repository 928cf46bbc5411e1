import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { telemetry } from '../../telemetry/telemetry.ts';
import { type HttpServices, localsOf, loggedStatus, operationOf } from '../request-context.ts';

/** Observes every request at its end, also one whose client left before. */
export type RequestObserver = (req: Request, res: Response, milliseconds: number) => void;

/** The first step of every request: gives it an id and protective headers; counts, logs and traces it until its end. */
export function entrance(services: HttpServices, observe: RequestObserver): RequestHandler {
  const { log } = services;
  const watchOrigin = originWatch(services);
  return (req, res, next) => {
    const start = performance.now();
    const requestId = requestIdOf(req.headers['x-request-id']);
    localsOf(res).requestId = requestId;
    res.setHeader('X-Request-Id', requestId);
    for (const [name, value] of securityHeaders) res.setHeader(name, value);
    res.on('close', () => {
      const milliseconds = performance.now() - start;
      observe(req, res, milliseconds);
      logRequest(log, req, res, milliseconds);
    });
    if (req.headers.origin) watchOrigin(req, req.headers.origin);
    if (telemetry && !PROBES.has(req.path)) {
      telemetry.serve(req.headers, (end) => {
        res.once('close', () => end(tracedFacts(req, res)));
        next();
      });
    } else next();
  };
}

/** The id of a request: its caller's X-Request-Id if that fits a log line and a header. */
const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();

/** One line for a request, with its operation and not its address: a VIN in a path is personal data. */
function logRequest(log: Logger, req: Request, res: Response, milliseconds: number): void {
  if (!log.isLevelEnabled('info')) return;
  const { requestId, company, code } = localsOf(res);
  const ms = Math.round(milliseconds * 10) / 10;
  const cut = !res.writableFinished;
  log.info(
    { requestId, company, operation: operationOf(req, res), status: loggedStatus(res), code, ms, ...(cut && { cut }) },
    'request',
  );
}

/** Requests of machines every few seconds, which would fill the traces. */
const PROBES = new Set(['/livez', '/readyz', '/metrics']);
const OUR_ERRORS = new Set(['INTERNAL', 'UNAVAILABLE']);

/** A request as a span of its caller's trace (`traceparent`), without its address, which may hold a VIN. */
function tracedFacts(req: Request, res: Response) {
  const { route, requestId, company, code } = localsOf(res);
  const status = loggedStatus(res);
  const failed = status >= 500 || OUR_ERRORS.has(code ?? '');
  return {
    name: route ? `${req.method} ${route}` : req.method,
    attributes: {
      'fleet_gateway.request_id': requestId,
      ...(company && { 'fleet_gateway.company': company }),
      ...(code && { 'fleet_gateway.code': code }),
    },
    labels: {
      'http.request.method': req.method,
      'http.response.status_code': status,
      'network.protocol.version': req.httpVersion,
      'url.scheme': req.protocol,
      ...(route && { 'http.route': route }),
      ...(failed && { 'error.type': code ?? String(status) }),
    },
  };
}

/** A step for requests of pages alone: other clients send OPTIONS for other reasons. */
export const forPages =
  (step: RequestHandler): RequestHandler =>
  (req, res, next) =>
    req.headers.origin ? step(req, res, next) : next();

const MINUTE_MS = 60_000;

/** Logs, once a minute, that a page of another origin may not call: its browser says little, and its server nothing. */
function originWatch({ config: { origins }, log, clock }: HttpServices) {
  let quietUntil = 0;
  return ({ method, headers }: Request, origin: string): void => {
    const isOwn = headers['sec-fetch-site'] === 'same-origin' || URL.parse(origin)?.host === headers.host;
    if (isOwn || clock() < quietUntil) return;
    if (origins.some((one) => (typeof one === 'string' ? one === origin : one.test(origin)))) return;
    quietUntil = clock() + MINUTE_MS;
    log.warn(
      { origin: origin.slice(0, 255), method },
      'a page of this origin was refused: CORS_ORIGINS does not name it',
    );
  };
}

/** The headers of every answer: data that may not run, be framed or be cached. Pages set their own policy. */
const securityHeaders: readonly (readonly [name: string, value: string])[] = Object.entries({
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Cache-Control': 'no-store',
});
