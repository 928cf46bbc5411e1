import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { localsOf, loggedStatus, operationOf } from '../request-context.ts';

/** Hears of every answered request, and of those whose client left before. */
export type Observe = (req: Request, res: Response, milliseconds: number) => void;

/**
 * What every request passes first, in one step: it is named (sent back as X-Request-Id) and protected, and when it is
 * over it is counted and logged.
 */
export function entrance(log: Logger, observe: Observe): RequestHandler {
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
    next();
  };
}

/** Long enough for any tracing scheme, short and plain enough for a log line and a header. */
const SANE = /^[\w.:-]{1,128}$/;

/** The name of a request: its caller's own (X-Request-Id) if that is a sane one. */
const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && SANE.test(given) ? given : randomUUID();

/** One line for an answered request. It names the operation, not the address: a VIN in a path is personal data. */
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

/**
 * The headers of every answer. An answer is data: nothing in it may run or be framed, and no cache may keep it. Pages set
 * a policy of their own.
 */
const securityHeaders: readonly (readonly [name: string, value: string])[] = Object.entries({
  'Content-Security-Policy': "default-src 'none';frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
  'Cache-Control': 'no-store',
});
