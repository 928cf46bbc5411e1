import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import express, { type Request, type Response } from 'express';
import {
  type DomainError,
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

/** From this length on, headers are sent apart: together, Node would copy the body. */
const MUCH = 16_384;
/** Bytes that a connection gets at a time, so that the server sees how fast its client takes them. */
const PIECE = 128 * 1024;

/** Sends the whole body of an answer; a long one in pieces, as its client takes them. */
export function sendText(res: Response, body: string | Buffer): void {
  if (body.length > PIECE) return void sendLong(res, typeof body === 'string' ? Buffer.from(body) : body);
  const length = Buffer.byteLength(body);
  res.setHeader('Content-Length', length);
  if (length > MUCH) {
    res.cork();
    res.flushHeaders();
  }
  res.end(body);
}

function sendLong(res: Response, body: Buffer): void {
  res.setHeader('Content-Length', body.length);
  const count = Math.ceil(body.length / PIECE);
  const pieces = Array.from({ length: count }, (_, at) => body.subarray(at * PIECE, (at + 1) * PIECE));
  void sendPieces(res, pieces);
}

/** Lets nginx pass on each piece of a stream; it would keep what does not fill its buffers. */
export const passAtOnce = (res: Response) => res.setHeader('X-Accel-Buffering', 'no');

export type Pieces = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

/** Sends pieces as the client takes them; a disconnected client is no error. */
export async function sendPieces(res: Response, pieces: Pieces): Promise<void> {
  for await (const piece of pieces) {
    if (res.destroyed) return;
    await sendPiece(res, piece);
  }
  if (!res.destroyed) res.end();
}

/** Resolves when the client has taken the piece, or has disconnected. */
function sendPiece(res: Response, piece: string | Buffer): Promise<void> {
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

export function headersOf(error: DomainError): Record<string, string> {
  return {
    ...(error.retryAfter !== undefined && { 'Retry-After': String(error.retryAfter) }),
    ...((error instanceof Unauthenticated || error instanceof Forbidden) && { 'WWW-Authenticate': challenge(error) }),
    ...(error instanceof MethodNotAllowed && { Allow: error.allow.join(', ') }),
  };
}

/** Parameters such as `charset`, which Express would take for a part of the type. */
const PARAMETERS = /;(?!\s*q\s*=)[^;,]*/gi;

/** The type that the client prefers; undefined if it accepts none. Removes parameters from the request's header. */
export function preferredOf<Type extends string>(req: Request, types: readonly Type[]): Type | undefined {
  const { accept = '*/*' } = req.headers;
  // Most clients send one type: to negotiate costs more than to answer by a short text.
  const only = accept === '*/*' ? types[0] : types.find((type) => type === accept);
  if (only) return only;
  req.headers.accept = accept.replaceAll(PARAMETERS, '');
  const found = req.accepts([...types]);
  return types.find((type) => type === found);
}

export const isJson = (type: string | undefined): boolean => /^application\/(?:[\w.-]+\+)?json\b/i.test(type ?? '');

/** Between services JSON is UTF-8 (RFC 8259, 8.1). */
const OTHER_CHARSET = /;\s*charset\s*=(?!\s*"?utf-?8"?\s*(?:;|$))/i;
const utf8 = new TextDecoder();
/** More than any input has: each copy of a larger body takes time. */
const MOST_MEMBERS = 1000;

type ReadBody<Body> = (req: Request, res: Response) => Promise<Body>;

/** Makes the reader of bodies of at most `limit` bytes. Throws PayloadTooLarge and MalformedJson. */
export function bytesReader(limit: number): ReadBody<Buffer> {
  const readEncoded = encodedReader(limit);
  return async (req, res) => {
    const { 'content-length': length, 'transfer-encoding': chunked, 'content-encoding': encoding } = req.headers;
    if (chunked || encoding) return readEncoded(req, res);
    if (Number(length ?? 0) > limit) throw tooLarge(limit);
    return readWhole(req);
  };
}

/**
 * Makes the reader of bodies of text of at most `limit` bytes. With an Idempotency-Key, `localsOf(res).digest` is the
 * body's hash. Throws UnsupportedMediaType, PayloadTooLarge and MalformedJson.
 */
export function textReader(limit: number): ReadBody<string> {
  const readBytes = bytesReader(limit);
  return async (req, res) => {
    if (OTHER_CHARSET.test(req.headers['content-type'] ?? '')) throw new UnsupportedMediaType('Send text in UTF-8.');
    const bytes = await readBytes(req, res);
    // The decoder would replace what is not UTF-8.
    if (!isUtf8(bytes)) throw new MalformedJson('The body holds bytes that are not UTF-8. Send text in UTF-8.');
    if (req.headers['idempotency-key']) localsOf(res).digest = hash('sha256', bytes);
    return utf8.decode(bytes);
  };
}

/** Makes the reader of JSON bodies of at most `limit` bytes, which gives undefined without a body. Throws what `textReader` throws. */
export function jsonReader(limit: number): ReadBody<unknown> {
  const readText = textReader(limit);
  return async (req, res) => {
    const { 'content-length': length, 'transfer-encoding': chunked, 'content-type': type } = req.headers;
    if (!chunked && Number(length ?? 0) === 0) return undefined;
    if (!isJson(type)) throw new UnsupportedMediaType('Send JSON, with the header Content-Type: application/json.');
    const text = await readText(req, res);
    const body = text === '' ? {} : parseJson(text, 'The body');
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
    if (Object.keys(body).length <= MOST_MEMBERS) return body;
    throw new PayloadTooLarge(`The body has more than ${MOST_MEMBERS} members. Send at most as many.`);
  };
}

/** Reads a body with a Content-Length, beyond which Node's parser reads nothing. */
function readWhole(req: Request): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];
  // The client may have disconnected while its token was being verified.
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

function encodedReader(limit: number): ReadBody<Buffer> {
  const read = express.raw({ limit, type: () => true });
  return (req, res) => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    read(req, res, (error?: unknown) => {
      if (error) reject(bodyErrorOf(error, limit));
      else if (req.body) resolve(req.body);
      // The client has left before anything was read.
      else reject(unreadable());
    });
    return promise;
  };
}

function bodyErrorOf(error: unknown, limit: number): unknown {
  if (!(error instanceof Error) || !('status' in error)) return error;
  if (error.status === 413) return tooLarge(limit);
  if (error.status !== 415) return error.status === 400 ? unreadable() : error;
  return new UnsupportedMediaType(`The body is encoded in a way that is not understood: ${error.message}.`);
}

/** Throws MalformedJson, which calls the text by this name. */
export function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new MalformedJson(`${name} is not JSON: ${(error as Error).message}.`);
  }
}

const tooLarge = (limit: number) => new PayloadTooLarge(`The body is larger than ${limit} bytes.`);
const unreadable = () => new MalformedJson('The body could not be read.');

/** Printable ASCII, as a header can carry it. */
const KEY = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

/** The header of an answer that is repeated for its Idempotency-Key. */
export const REPLAYED = 'Idempotent-Replayed';

/** The Idempotency-Key of a request; throws ValidationFailed for a malformed one. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (KEY.test(header)) return header;
  throw new ValidationFailed([
    { path: 'Idempotency-Key', code: 'INVALID_FORMAT', message: 'is 1 to 255 printable ASCII characters' },
  ]);
}
