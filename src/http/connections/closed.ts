import { addAbortListener } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../../core/context.ts';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The time until the caller's token expires, up to the longest timer. */
export const msLeft = (expiresAt: number): number => Math.min(Math.max(0, expiresAt - Date.now()), LONGEST_TIMER_MS);

/** Aborts when the client disconnects or has its answer, the process is to end, the token expires, or `longestMs` have passed. */
export function closedOf(
  res: ServerResponse,
  ending: AbortSignal,
  caller: Caller | null,
  longestMs = LONGEST_TIMER_MS,
): AbortSignal {
  const closed = leftOf(res);
  const expired = new AbortController();
  const left = caller ? msLeft(caller.expiresAt) : longestMs;
  const timer = setTimeout(() => expired.abort(), Math.min(left, longestMs));
  addAbortListener(closed, () => clearTimeout(timer));
  // This listener is the first: a stream of events ends without GraphQL's "complete", so that its client comes back.
  const stop = () => isEventStream(res) && res.end();
  for (const end of [ending, expired.signal]) end.addEventListener('abort', stop, { signal: closed });
  return AbortSignal.any([closed, ending, expired.signal]);
}

/** `abort()` without a reason makes a DOMException with its stack, 30 µs for each request. */
const LEFT = new Error('The client has left.');

/** Aborts when the client disconnects or has its answer. */
export function leftOf(res: ServerResponse): AbortSignal {
  const left = new AbortController();
  if (res.closed) left.abort(LEFT);
  else res.once('close', () => left.abort(LEFT));
  return left.signal;
}

const isEventStream = (res: ServerResponse): boolean =>
  res.headersSent && /^text\/event-stream/.test(String(res.getHeader('content-type')));

/** Idle connections are closed this often, and not at once, since a request may be on its way. */
const IDLE_GRACE_MS = 1_000;

/** Serves for `graceMs`, so that load balancers see /readyz; then closes idle connections, and the rest after `longestMs`. */
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
  // Only from now on: a client opens a new connection then, which this process would have accepted before.
  const sayClose = (_req: unknown, res: ServerResponse) => void res.setHeader('Connection', 'close');
  server.off('request', remember).prependListener('request', sayClose);
  for (const res of underWay) if (!res.headersSent) sayClose(null, res);
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_GRACE_MS);
  const cut = delay(end - performance.now(), undefined, { ref: false }).then(() => server.closeAllConnections());
  await Promise.race([closed.promise, cut]);
  clearInterval(idle);
}
