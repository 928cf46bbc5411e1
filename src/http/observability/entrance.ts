import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import { securityHeaders } from '../security-headers.ts';
import { requestIdOf } from './request-id.ts';
import { logRequest } from './request-log.ts';

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
    res.locals.requestId = requestId;
    res.setHeader('X-Request-Id', requestId);
    for (const [name, value] of securityHeaders) res.setHeader(name, value);
    res.once('close', () => {
      const milliseconds = performance.now() - start;
      observe(req, res, milliseconds);
      logRequest(log, req, res, milliseconds);
    });
    next();
  };
}
