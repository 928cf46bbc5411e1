import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const IDLE_GRACE_MS = 1_000;
const LONGEST_MS = 8_000;

/**
 * Ends a server without failing a request: no new connections, `Connection: close` on every answer, connections that
 * stay idle are closed after a moment (a request may be on its way), and what takes too long is cut.
 */
export async function drain(server: Server): Promise<void> {
  // http.Server's own close would also cut idle connections at once, under a client that is just about to use one.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'));
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_GRACE_MS);
  const cut = delay(LONGEST_MS, undefined, { ref: false }).then(() => server.closeAllConnections());
  await Promise.race([closed, cut]);
  clearInterval(idle);
}
