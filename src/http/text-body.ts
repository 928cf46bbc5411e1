import type { Response } from 'express';

/** Bytes of a text that headers are not copied before. */
const MUCH = 16_384;

/** Sends a text as the whole body of an answer. */
export function sendText(res: Response, text: string): void {
  const length = Buffer.byteLength(text);
  res.setHeader('Content-Length', length);
  if (length > MUCH) {
    // Else it would be copied, to stand behind them.
    res.cork();
    res.flushHeaders();
  }
  res.end(text);
}
