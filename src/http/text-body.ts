import type { Response } from 'express';

/** Bytes of a text that headers are not copied before. */
const MUCH = 16_384;

/** Sends a text as the whole body of an answer; `latin1` has a character for each of its bytes in UTF-8. */
export function sendText(res: Response, { latin1 }: { latin1: string }): void {
  res.setHeader('Content-Length', latin1.length);
  if (latin1.length > MUCH) {
    // Else it would be copied, to stand behind them.
    res.cork();
    res.flushHeaders();
  }
  res.end(latin1, 'latin1');
}
