import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { operationOf } from './operation.ts';

/** One line for each answered request. It names the operation, not the address: a VIN in a path is personal data. */
export function requestLog(log: Logger): RequestHandler {
  if (!log.isLevelEnabled('info')) return (_req, _res, next) => next();
  return (req, res, next) => {
    const start = performance.now();
    res.once('close', () => {
      const { requestId, company, code } = res.locals;
      const ms = Math.round((performance.now() - start) * 10) / 10;
      const cut = !res.writableFinished;
      log.info(
        { requestId, company, operation: operationOf(req, res), status: res.statusCode, code, ms, ...(cut && { cut }) },
        'request',
      );
    });
    next();
  };
}
