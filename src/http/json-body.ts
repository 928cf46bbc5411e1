import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express, { type Request, type Response } from 'express';
import { MalformedJson, PayloadTooLarge, UnsupportedMediaType, ValidationFailed } from '../core/errors.ts';
import { localsOf } from './request-context.ts';

export type ReadJson = (req: Request, res: Response) => Promise<unknown>;

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
  if (!req.headers['idempotency-key']) return;
  localsOf(res as Response).digest = createHash('sha256').update(body).digest('hex');
}

/** What Express's body parser rejects, in our words. */
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
