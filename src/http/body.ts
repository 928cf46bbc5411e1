import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express, { type Request, type Response } from 'express';
import {
  type DomainError,
  type ErrorCode,
  Forbidden,
  MalformedJson,
  MethodNotAllowed,
  PayloadTooLarge,
  Unauthenticated,
  UnsupportedMediaType,
  ValidationFailed,
} from '../core/errors.ts';
import { challenge } from './identity/issuer.ts';
import { localsOf } from './request-context.ts';

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

type ReadJson = (req: Request, res: Response) => Promise<unknown>;

/** Any media type that says it is JSON. */
export const isJson = (type: string | undefined): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(type ?? '');

/**
 * What reads a JSON body of at most `limit` bytes; undefined where there is none. With an Idempotency-Key,
 * `localsOf(res).digest` tells bodies apart.
 * Throws UnsupportedMediaType, PayloadTooLarge and MalformedJson.
 */
export function jsonReader(limit: number): ReadJson {
  const json = express.json({
    limit,
    strict: false,
    type: (req) => isJson(req.headers['content-type']),
    verify: inspect,
  });
  return async (req, res) => {
    const { 'content-length': length, 'transfer-encoding': chunked, 'content-type': type } = req.headers;
    if (!chunked && Number(length ?? 0) === 0) return undefined;
    if (!isJson(type)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
    if (OTHER_CHARSET.test(type ?? '')) throw new UnsupportedMediaType('Send JSON in UTF-8.');
    if (!chunked && !req.headers['content-encoding']) {
      if (Number(length) > limit) throw tooLarge(limit);
      const body = await readWhole(req);
      inspect(req, res, body);
      return bounded(parsed(utf8.decode(body)));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    json(req, res, (error?: unknown) => (error ? reject(bodyErrorOf(error)) : resolve()));
    await promise;
    return bounded(req.body);
  };
}

/** Between services JSON is UTF-8 (RFC 8259, 8.1). */
const OTHER_CHARSET = /;\s*charset\s*=\s*"?(?!utf-?8"?\s*(?:;|$))/i;
const utf8 = new TextDecoder();

/** A body that says how long it is: Node's parser takes no more of it. */
function readWhole(req: Request): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];
  // The client has gone before it sent all, perhaps while its token was being verified.
  const giveUp = () => reject(unreadable());
  req.on('data', (piece: Buffer) => pieces.push(piece));
  req.once('end', () => {
    req.off('close', giveUp);
    resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
  });
  req.once('close', giveUp);
  if (req.destroyed) giveUp();
  return promise;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(error as Error);
  }
}

/** More than any input has. */
const MOST_MEMBERS = 1000;

/** A body of a hundred thousand members takes its time each time that it is copied. */
function bounded(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  if (Object.keys(body).length <= MOST_MEMBERS) return body;
  throw new PayloadTooLarge(`The body has more than ${MOST_MEMBERS} members.`);
}

const tooLarge = (limit: number | undefined) => new PayloadTooLarge(`The body is larger than ${limit} bytes.`);
const notJson = ({ message }: Error) => new MalformedJson(`The body is not JSON: ${message}.`);
const notUtf8 = () => new MalformedJson('The body is not JSON: it holds bytes that are not UTF-8.');
const unreadable = () => new MalformedJson('The body could not be read.');

/** Looks at the bytes of a body before anybody decodes them: whoever does puts U+FFFD in place of what is not UTF-8. */
function inspect(req: IncomingMessage, res: object, body: Buffer): void {
  if (!isUtf8(body)) throw notUtf8();
  const locals = localsOf(res as Response);
  locals.bodyBytes = body.length;
  if (!req.headers['idempotency-key']) return;
  locals.digest = createHash('sha256').update(body).digest('hex');
}

/** The error for a body that Express's parser rejects. */
function bodyErrorOf(error: unknown): unknown {
  if (!(error instanceof Error) || !('status' in error)) return error;
  const { type, limit } = error as { type?: string; limit?: number };
  if (error.status === 413) return tooLarge(limit);
  if (error.status === 415) {
    return new UnsupportedMediaType(`The body is encoded in a way that is not understood: ${error.message}.`);
  }
  if (type === 'entity.parse.failed') return notJson(error);
  if (type === 'entity.verify.failed') return notUtf8();
  return error.status === 400 ? unreadable() : error;
}

/** Printable ASCII, as a header can carry it. */
const KEY = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

/** The header of an answer that an earlier request with the same key was given. */
export const REPLAYED = 'Idempotent-Replayed';

/** The Idempotency-Key of a request, undefined when there is none; throws ValidationFailed for one that is none. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (KEY.test(header)) return header;
  throw new ValidationFailed([
    { path: 'Idempotency-Key', code: 'INVALID_FORMAT', message: 'is 1 to 255 printable ASCII characters' },
  ]);
}
