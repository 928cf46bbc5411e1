import type { Response } from 'express';
import { type DomainError, type ErrorCode, Forbidden, MethodNotAllowed, Unauthenticated } from '../core/errors.ts';
import { challenge } from './identity/issuer.ts';

/** Bytes of a body that headers are not copied before. */
const MUCH = 16_384;
/** Bytes that a connection gets at a time, so that one sees how fast its client takes them. */
const PIECE = 128 * 1024;

/** Sends the whole body of an answer; a long one in pieces, as its client takes them. */
export function sendText(res: Response, body: string | Buffer): void {
  if (body.length > PIECE) return void sendPieces(res, typeof body === 'string' ? Buffer.from(body) : body);
  const length = Buffer.byteLength(body);
  res.setHeader('Content-Length', length);
  if (length > MUCH) {
    // Else it would be copied, to stand behind them.
    res.cork();
    res.flushHeaders();
  }
  res.end(body);
}

async function sendPieces(res: Response, body: Buffer): Promise<void> {
  res.setHeader('Content-Length', body.length);
  for (let at = 0; at < body.length && !res.destroyed; at += PIECE) {
    await sendPiece(res, body.subarray(at, at + PIECE));
  }
  if (!res.destroyed) res.end();
}

/** Resolves when the client has taken it, or takes nothing any more. */
export function sendPiece(res: Response, piece: string | Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (res.destroyed || res.write(piece) || res.destroyed) resolve();
  else {
    const done = () => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    res.on('drain', done).on('close', done);
  }
  return promise;
}

/** The HTTP status of every error. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  VALIDATION_FAILED: 400,
  MALFORMED_JSON: 400,
  FLEET_ID_MISSING: 400,
  NOTHING_TO_DELETE: 400,
  NOTHING_TO_MOVE: 400,
  MANUFACTURER_NOT_SUPPORTED: 400,
  COST_EXCEEDED: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  FLEET_NOT_FOUND: 404,
  VEHICLE_NOT_FOUND: 404,
  CONTRACT_NOT_FOUND: 404,
  IMPORT_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ELIGIBILITY_IN_PROGRESS: 409,
  CONTRACT_OVERLAP: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
};

/** The headers that belong to an error. */
export function headersOf(error: DomainError): Record<string, string> {
  return {
    ...(error.retryAfter !== undefined && { 'Retry-After': String(error.retryAfter) }),
    ...((error instanceof Unauthenticated || error instanceof Forbidden) && { 'WWW-Authenticate': challenge(error) }),
    ...(error instanceof MethodNotAllowed && { Allow: error.allow.join(', ') }),
  };
}
