import { OutgoingMessage, request } from 'node:http';
import { createClient } from 'graphql-ws';
import { expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import type { Client, Json } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const { followers } = gateway.services;

/** Events of an upload, each of 1,000 vehicles, and the least length of their texts. */
const EVENTS = 6;
const LONG = 20_000;
const EVERY = 'subscription { events { id type vehicles { vin } } }';

/** Opens streams; gives the number of those that have told of the upload's end. */
type Follow = (client: Client, count: number) => () => number;
const END = /import.completed/i;

const overHttp =
  (path: string, method: string, body?: object): Follow =>
  (client, count) => {
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const ended = new Set<number>();
    const headers = { ...client.headers, accept: 'text/event-stream', 'content-type': 'application/json' };
    for (let at = 0; at < count; at++) {
      const asked = request(new URL(path, client.url), { method, headers, signal: leaving.signal, agent: false });
      asked.on('error', () => {});
      asked.on('response', (response) => {
        response.on('error', () => {});
        let tail = '';
        response.setEncoding('latin1').on('data', (piece: string) => {
          tail = tail.slice(-1_000) + piece.slice(-1_000);
          if (END.test(tail)) ended.add(at);
        });
      });
      asked.end(body && JSON.stringify(body));
    }
    return () => ended.size;
  };

const overWebSocket: Follow = (client, count) => {
  let ended = 0;
  const url = `${gateway.url.replace('http', 'ws')}/graphql`;
  const { authorization } = client.headers;
  const open = () => createClient({ url, webSocketImpl: WebSocket, connectionParams: { authorization } });
  const sockets = Array.from({ length: Math.ceil(count / 50) }, open);
  onTestFinished(() => Promise.all(sockets.map((one) => one.dispose())) as never);
  const next = ({ data }: Json) => {
    if (END.test(data.events.type)) ended += 1;
  };
  for (let at = 0; at < count; at++) {
    sockets[at % sockets.length]?.subscribe({ query: EVERY }, { next, error: () => {}, complete: () => {} });
  }
  return () => ended;
};

const ways: Record<string, Follow> = {
  'GET /events/stream': overHttp('/events/stream', 'GET'),
  'a subscription by server-sent events': overHttp('/graphql', 'POST', { query: EVERY }),
  'a subscription by WebSocket': overWebSocket,
};

/** Uploads vehicles for as many events while `count` followers listen, until each of them has received all. */
async function followUpload(company: string, follow: Follow, count: number): Promise<void> {
  const client = await gateway.as(company);
  const fleet = await createFleet(client);
  await until(async () => (await client.get('/events')).body.length > 0);
  const ended = follow(client, count);
  await until(() => followers.count === count);
  const vins = newVins(EVENTS * 1_000, 0, 'WP0');
  expect(await client.post('/vehicles/file', uploadForm(fleet.id, vins.join('\n')))).toMatchObject({ status: 201 });
  await until(() => ended() >= count);
}

test.each(Object.entries(ways))('%s: the text of an event is made once for all who ask alike', async (name, follow) => {
  const stringify = vi.spyOn(JSON, 'stringify');
  onTestFinished(() => stringify.mockRestore());
  await followUpload(`alike ${name}`, follow, 30);
  const isLong = ({ value }: { value: unknown }) => typeof value === 'string' && value.length > LONG;
  expect(stringify.mock.results.filter(isLong).length).toBeLessThan(2 * EVENTS);
});

test('beside many followers others have their turn after a few of their texts', async () => {
  let inTurn = 0;
  let most = 0;
  let all = 0;
  const { write } = OutgoingMessage.prototype;
  const spied = vi.spyOn(OutgoingMessage.prototype, 'write').mockImplementation(function (
    this: OutgoingMessage,
    ...args
  ) {
    if (args[0].length > LONG) all += 1;
    inTurn += args[0].length > LONG ? 1 : 0;
    most = Math.max(most, inTurn);
    return write.apply(this, args as never);
  } as typeof write);
  onTestFinished(() => spied.mockRestore());
  let ended = false;
  const countTurns = () => {
    inTurn = 0;
    if (!ended) setImmediate(countTurns);
  };
  countTurns();
  onTestFinished(() => {
    ended = true;
  });
  await followUpload('many', overHttp('/events/stream', 'GET'), 300);
  expect(all).toBe(300 * EVENTS);
  expect(most).toBeLessThan(all / 5);
});

test('the past is read a few large events at a time, and none is missed', async () => {
  const client = await gateway.as('past');
  const fleet = await createFleet(client);
  const [first] = await until(
    async () => (await client.get('/events')).body.length > 0 && (await client.get('/events')).body,
  );
  const vins = newVins(2 * EVENTS * 1_000, 0, 'WP0');
  expect(await client.post('/vehicles/file', uploadForm(fleet.id, vins.join('\n')))).toMatchObject({ status: 201 });
  const log = await until(async () => {
    const { body } = await client.get(`/events?after=${first.id}&limit=100`);
    return END.test(body.at(-1)?.type) && (body as Json[]);
  });
  const slowRead = vi.spyOn(gateway.database, 'slowRead');
  const read = vi.spyOn(gateway.database, 'read');
  onTestFinished(() => slowRead.mockRestore());
  onTestFinished(() => read.mockRestore());
  const stream = await openStream(client, `/events/stream?after=${first.id}&fleetId=${fleet.id}`);
  onTestFinished(stream.close);
  const told: string[] = [];
  for (const _ of log) told.push((await stream.next()).id);
  expect(told).toEqual(log.map(({ id }) => id));
  const results = await Promise.all([...slowRead.mock.results, ...read.mock.results].map(({ value }) => value));
  const lengths = results.map((rows) => JSON.stringify(rows).length);
  expect(Math.max(...lengths)).toBeGreaterThan(LONG);
  expect(Math.max(...lengths)).toBeLessThan(JSON.stringify(log).length / 2);
});

/** A connection whose client reads nothing until `resume`; `texts` are those that it has got. */
type Unread = (client: Client, after: string) => Promise<{ resume(): void; texts(): number }>;
const ACTOR = /"actor":/g;

const unread: Record<string, Unread> = {
  'GET /events/stream': async (client, after) => {
    let texts = 0;
    const url = new URL(`/events/stream?after=${after}`, client.url);
    const asked = request(url, { headers: client.headers, agent: false });
    onTestFinished(() => void asked.destroy());
    const { promise, resolve } = Promise.withResolvers<() => void>();
    asked
      .on('error', () => {})
      .on('response', (response) => {
        response
          .on('error', () => {})
          .setEncoding('latin1')
          .pause();
        let tail = '';
        resolve(() => {
          response.on('data', (piece: string) => {
            texts += `${tail}${piece}`.match(ACTOR)?.length ?? 0;
            tail = piece.slice(-7);
          });
          response.resume();
        });
      });
    asked.end();
    return { resume: await promise, texts: () => texts };
  },
  'a subscription by WebSocket': async (client, after) => {
    let texts = 0;
    const socket = new WebSocket(`${client.url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws']);
    onTestFinished(() => socket.terminate());
    const send = (message: Json) => socket.send(JSON.stringify(message));
    socket.once('open', () => send({ type: 'connection_init', payload: client.headers }));
    await new Promise((resolve) => socket.once('message', resolve));
    socket.on('message', (data) => {
      if (String(data).length > LONG) texts += 1;
    });
    socket.pause();
    const query = 'subscription ($after: String) { events(after: $after) { id actor } }';
    send({ type: 'subscribe', id: '1', payload: { query, variables: { after } } });
    return { resume: () => socket.resume(), texts: () => texts };
  },
};

test.each(Object.entries(unread))('%s: what its reader does not take stays in the log', async (name, open) => {
  const company = `unread by ${name}`;
  const client = await gateway.as(company);
  await createFleet(client);
  const [first] = await until(async () => {
    const { body } = await client.get('/events');
    return body.length > 0 && (body as Json[]);
  });
  const count = 300;
  await gateway.execute(`with log as (
      update company set position = position + ${count} where company = '${company}' returning position - ${count} as past)
    insert into event (company, type, actor, at, position)
    select '${company}', 'fleet.updated', repeat('x', 80000), now(), past + event from log, generate_series(1, ${count}) event`);
  let written = 0;
  const note = (text: unknown) => {
    if ((text as string).length > LONG) written += 1;
  };
  const { write } = OutgoingMessage.prototype;
  const { send } = WebSocket.prototype;
  const spies = [
    vi.spyOn(OutgoingMessage.prototype, 'write').mockImplementation(function (this: OutgoingMessage, ...args) {
      note(args[0]);
      return write.apply(this, args as never);
    } as typeof write),
    vi.spyOn(WebSocket.prototype, 'send').mockImplementation(function (this: WebSocket, ...args: unknown[]) {
      note(args[0]);
      send.apply(this, args as never);
    } as typeof send),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  const { resume, texts } = await open(client, first.id);
  const seen: number[] = [];
  await until(() => seen.unshift(written) > 40 && written > 0 && seen.slice(0, 40).every((one) => one === written));
  // The system's buffers take the beginning.
  expect(written).toBeLessThan(count - 100);
  resume();
  await until(() => texts() === count);
});
