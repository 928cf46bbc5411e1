import type { Response } from 'express';

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
