import type { Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

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
  // By net.Server's close, which keeps connections: http.Server's own would cut idle ones under a client that is about to use them.
  NetServer.prototype.close.call(server, () => closed.resolve());
  // Not before: whoever is told to close comes back with a new connection.
  const sayClose = (_req: unknown, res: ServerResponse) => void res.setHeader('Connection', 'close');
  server.off('request', remember).prependListener('request', sayClose);
  for (const res of underWay) if (!res.headersSent) sayClose(null, res);
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_GRACE_MS);
  const cut = delay(end - performance.now(), undefined, { ref: false }).then(() => server.closeAllConnections());
  await Promise.race([closed.promise, cut]);
  clearInterval(idle);
}
