import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../core/context.ts';

/** Timers take no more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The time until the caller's token expires, up to the longest timer. */
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

/** How long a connection stays open without a request: one may be on its way. */
const IDLE_GRACE_MS = 1_000;

/**
 * Ends a server without failing a request. For `graceMs` it serves as ever, so that those who ask /readyz turn to
 * others; then no new connections, `Connection: close` on every answer, and connections that stay idle are closed after
 * a moment. What takes longer than `longestMs` in all is cut.
 */
export async function drain(server: Server, graceMs: number, longestMs: number): Promise<void> {
  const end = performance.now() + longestMs;
  const underWay = new Set<ServerResponse>();
  const remember = (_req: unknown, res: ServerResponse) => {
    underWay.add(res);
    res.once('close', () => underWay.delete(res));
  };
  server.prependListener('request', remember);
  await delay(graceMs);
  const closed = Promise.withResolvers<void>();
  // net.Server's close keeps connections; http.Server's would cut idle ones that a client is about to use.
  NetServer.prototype.close.call(server, () => closed.resolve());
  // `Connection: close` is sent only now, since such clients come back with a new connection.
  const sayClose = (_req: unknown, res: ServerResponse) => void res.setHeader('Connection', 'close');
  server.off('request', remember).prependListener('request', sayClose);
  for (const res of underWay) if (!res.headersSent) sayClose(null, res);
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_GRACE_MS);
  const cut = delay(end - performance.now(), undefined, { ref: false }).then(() => server.closeAllConnections());
  await Promise.race([closed.promise, cut]);
  clearInterval(idle);
}
