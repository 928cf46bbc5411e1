import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import type { Headed } from './support/client.ts';
import { takeTurns } from './support/deadlines.ts';
import { addVehicles, createFleet, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const fleet = await createFleet(acme);
await addVehicles(acme, newVins(300), fleet);
const csv = `vin\n${Array.from({ length: 2_000 }, (_, at) => `WBA${at}`).join('\n')}\n`;
const sent = await acme.post(`/vehicles/file?fleetId=${fleet.id}`, csv, { 'content-type': 'text/csv' });

const vehicles = `/fleets/${fleet.id}/vehicles`;
const events = 'subscription { events { id } }';
const inAddress = `/graphql?query=${encodeURIComponent(events)}`;

/** Path, headers and, for a POST, the document; by the name of the stream. */
const streams: Record<string, [path: string, headers: Headed, query?: string]> = {
  'events by REST': ['/events/stream', {}],
  'an import by REST': [`/imports/${randomUUID()}/events`, {}],
  'a whole list': [vehicles, {}],
  'a whole list as CSV': [vehicles, { accept: 'text/csv' }],
  'a whole list as NDJSON': [vehicles, { accept: 'application/x-ndjson' }],
  'a page as CSV': [`${vehicles}?limit=10`, { accept: 'text/csv' }],
  'rejected rows': [`/imports/${sent.body.importId}/rejected.csv`, {}],
  'a subscription as SSE': ['/graphql', { accept: 'text/event-stream' }, events],
  'a subscription as SSE by GET': [inAddress, { accept: 'text/event-stream' }],
  'a subscription for a client that takes any form': ['/graphql', { accept: '*/*' }, events],
  'a query as SSE': ['/graphql', { accept: 'text/event-stream' }, '{ __typename }'],
  'a query as multipart': ['/graphql', { accept: 'multipart/mixed' }, '{ __typename }'],
};

/** The headers of an answer whose body is not read. */
async function headersOf(path: string, headers: Headed, query?: string): Promise<Headers> {
  const gone = new AbortController();
  const body = query && { method: 'POST', body: JSON.stringify({ query }) };
  const all = { ...acme.headers, 'content-type': 'application/json', ...headers };
  const answer = await fetch(new URL(path, gateway.url), { headers: all, signal: gone.signal, ...body });
  expect(answer.status).toBe(200);
  gone.abort();
  return answer.headers;
}

test.each(Object.entries(streams))('%s: nginx passes on each piece at once', async (_, stream) => {
  const headers = await headersOf(...stream);
  expect(headers.get('x-accel-buffering')).toBe('no');
  expect(headers.has('content-length')).toBe(false);
});

test('nginx may keep what is sent as a whole', async () => {
  for (const [path, query] of [[`${vehicles}?limit=10`], ['/docs'], ['/graphql', '{ __typename }']] as const) {
    expect((await headersOf(path, {}, query)).has('x-accel-buffering')).toBe(false);
  }
});

/** Opens a stream without news; gives the number of signs of life so far. */
const quiet: Record<string, () => Promise<() => number>> = {
  'events by REST': () => overHttp('/events/stream', 'GET'),
  'a subscription by server-sent events': () => overHttp('/graphql', 'POST', events),
  'a WebSocket': async () => {
    let beats = 0;
    (await openSocket()).on('ping', () => void beats++);
    return () => beats;
  },
};

async function overHttp(path: string, method: string, query?: string): Promise<() => number> {
  let beats = 0;
  const headers = { ...acme.headers, accept: 'text/event-stream', 'content-type': 'application/json' };
  const asked = request(new URL(path, gateway.url), { method, headers, agent: false });
  onTestFinished(() => void asked.destroy());
  const opened = new Promise<void>((resolve) => {
    asked.once('response', (response) => {
      response
        .on('error', () => {})
        .on('data', (piece) => {
          beats += `${piece}`.split(':\n\n').length - 1;
        });
      resolve();
    });
  });
  asked.on('error', () => {}).end(query && JSON.stringify({ query }));
  await opened;
  return () => beats;
}

async function openSocket(options?: WebSocket.ClientOptions): Promise<WebSocket> {
  const url = `${gateway.url.replace('http', 'ws')}/graphql`;
  const socket = new WebSocket(url, ['graphql-transport-ws'], options);
  onTestFinished(() => socket.terminate());
  socket.once('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload: acme.headers })));
  await new Promise((resolve) => socket.once('message', resolve));
  return socket;
}

/** Has time stand still, and gives a function that has it pass. */
function stopTime(): (seconds: number) => Promise<void> {
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;
  vi.useFakeTimers({ toFake: [...toFake], shouldClearNativeTimers: true });
  onTestFinished(() => void vi.useRealTimers());
  return async (seconds) => {
    for (let second = 0; second < seconds; second++) {
      vi.advanceTimersByTime(1000);
      await takeTurns();
    }
  };
}

test.each(Object.entries(quiet))('%s: no proxy takes a quiet stream for a dead one', async (_, open) => {
  const pass = stopTime();
  const beats = await open();
  await takeTurns();
  const before = beats();
  // The shortest that proxies have by default is a minute.
  await pass(59);
  expect(beats() - before).toBeGreaterThanOrEqual(3);
});

test('a WebSocket without an answer to pings is ended, and one that answers is not', async () => {
  const pass = stopTime();
  const [lost, kept] = [await openSocket({ autoPong: false }), await openSocket()];
  const closed = new Promise((resolve) => lost.once('close', resolve));
  await pass(45);
  expect(await closed).toBe(1006);
  expect(kept.readyState).toBe(WebSocket.OPEN);
});
