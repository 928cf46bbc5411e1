import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { operationOf } from './operation.ts';

/** One line for an answered request. It names the operation, not the address: a VIN in a path is personal data. */
export function logRequest(log: Logger, req: Request, res: Response, milliseconds: number): void {
  if (!log.isLevelEnabled('info')) return;
  const { requestId, company, code } = res.locals;
  const ms = Math.round(milliseconds * 10) / 10;
  const cut = !res.writableFinished;
  log.info(
    { requestId, company, operation: operationOf(req, res), status: res.statusCode, code, ms, ...(cut && { cut }) },
    'request',
  );
}
