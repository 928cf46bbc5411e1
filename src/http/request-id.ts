import { randomUUID } from 'node:crypto';
import type { RequestHandler } from 'express';

/** Long enough for any tracing scheme, short and plain enough for a log line and a header. */
const SANE = /^[\w.:-]{1,128}$/;

/** Names every request: the caller's own name for it if that is a sane one. Sent back as X-Request-Id. */
export const requestId: RequestHandler = (req, res, next) => {
  const given = req.get('X-Request-Id');
  res.locals.requestId = given && SANE.test(given) ? given : randomUUID();
  res.set('X-Request-Id', res.locals.requestId);
  next();
};
