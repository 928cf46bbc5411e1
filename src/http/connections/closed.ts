import type { ServerResponse } from 'node:http';
import type { Caller } from '../../core/context.ts';

/** Timers take no more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** For how long the caller's token goes on, as far as a timer can wait. */
export const msLeft = (expiresAt: number): number => Math.min(Math.max(0, expiresAt - Date.now()), LONGEST_TIMER_MS);

/**
 * Aborts when the client has gone or has its whole answer, when the process is to end, and when the caller's token
 * expires or `longestMs` have passed: whoever waits stops waiting, and no stream outlives its token.
 */
export function closedOf(
  res: ServerResponse,
  ending: AbortSignal,
  caller: Caller | null,
  longestMs = LONGEST_TIMER_MS,
): AbortSignal {
  const closed = new AbortController();
  const expired = new AbortController();
  const left = caller ? msLeft(caller.expiresAt) : longestMs;
  const timer = setTimeout(() => expired.abort(), Math.min(left, longestMs));
  res.once('close', () => {
    clearTimeout(timer);
    closed.abort();
  });
  // Before anybody else hears of the end. A stream of events just stops, so that its client comes back, to another
  // process or with another token: what GraphQL calls "complete" would tell it not to.
  const stop = () => isEventStream(res) && res.end();
  for (const end of [ending, expired.signal]) end.addEventListener('abort', stop, { signal: closed.signal });
  return AbortSignal.any([closed.signal, ending, expired.signal]);
}

/** Aborts when the client has gone, or has its whole answer. */
export function leftOf(res: ServerResponse): AbortSignal {
  const left = new AbortController();
  if (res.closed) left.abort();
  else res.once('close', () => left.abort());
  return left.signal;
}

const isEventStream = (res: ServerResponse): boolean =>
  res.headersSent && /^text\/event-stream/.test(String(res.getHeader('content-type')));
