/** A process with followers of one company. It tells its parent when all are open, and when all have been told of the ends. */
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

export interface Followed {
  url: string;
  headers: Record<string, string>;
  way: string;
  count: number;
  /** The number of uploads that a follower is to be told of. */
  ends: number;
}

const EVERY = 'subscription { events { id type vehicles { vin } } }';
const END = /import.completed/i;
const PER_SOCKET = 50;

process.once('disconnect', () => process.exit());
process.once('message', async ({ url, headers, way, count, ends }: Followed) => {
  const left = Array.from({ length: count }, () => ends);
  const tell = (at: number) => {
    left[at] = (left[at] ?? 0) - 1;
    if (left.every((one) => one <= 0)) process.send?.('ended');
  };
  if (way === 'ws') overWebSockets(url, headers, count, tell);
  else await Promise.all(left.map((_, at) => overHttp(url, headers, way, () => tell(at))));
  // The last ones have joined.
  await delay(2_000);
  process.send?.('open');
  if (count === 0) process.send?.('ended');
});

function overHttp(url: string, headers: Record<string, string>, way: string, tell: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const [path, method] = way === 'sse' ? ['/graphql', 'POST'] : ['/events/stream', 'GET'];
  const asked = request(`${url}${path}`, {
    method,
    headers: { ...headers, accept: 'text/event-stream' },
    agent: false,
  });
  asked.on('response', (response) => {
    let tail = Buffer.alloc(0);
    response.on('data', (piece: Buffer) => {
      // An end is short: its event has no vehicles.
      tail = Buffer.concat([tail.subarray(-500), piece.subarray(-2_000)]);
      if (!END.test(tail.toString('latin1'))) return;
      tail = Buffer.alloc(0);
      tell();
    });
    resolve();
  });
  asked.end(way === 'sse' ? JSON.stringify({ query: EVERY }) : undefined);
  return promise;
}

function overWebSockets(url: string, headers: Record<string, string>, count: number, tell: (at: number) => void): void {
  const open = () =>
    createClient({
      url: `${url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: headers.authorization },
    });
  const sockets = Array.from({ length: Math.ceil(count / PER_SOCKET) }, open);
  for (let at = 0; at < count; at++) {
    const next = (told: object) => {
      if (END.test(JSON.stringify(told).slice(0, 200))) tell(at);
    };
    sockets[at % sockets.length]?.subscribe({ query: EVERY }, { next, error: console.error, complete: () => {} });
  }
}
