/**
 * Measures one document by POST, also with the Accept header of Apollo Client, by GET and WebSocket, and a thousand
 * followers of a company that adds vehicles.
 *
 * Run:  npx node bench/ways.ts [--rounds 5] [--seconds 3] [--followers 1000]
 * Read: CPU is microseconds per response, of the gateway and of PostgreSQL; "more" is the extra cost compared to POST.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { type Client, createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { oneFleet } from './documents.ts';
import { COMPANY, seed } from './seed.ts';
import { closedLoop, type LoadResult, type Request } from './support/load.ts';
import {
  cpuMicroseconds,
  figure,
  inTurns,
  median,
  printTable,
  quantile,
  serverMicroseconds,
} from './support/measure.ts';
import { migrate, openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    followers: { type: 'string', default: '1000' },
  },
});
const SECONDS = Number(options.seconds);
const CONNECTIONS = 16;
/** The default limit of operations per WebSocket. */
const PER_SOCKET = 10;
const VEHICLES = 100;

await using world = await openWorld();
migrate(world.url);
const { fleetOf100 } = await seed(world.admin, 20_000);
const gateway = await world.gateway();
const headers = world.headers(COMPANY);
const asked = { query: oneFleet(), variables: { id: fleetOf100 } };

const cost = () => ({ own: cpuMicroseconds(gateway.pid), server: serverMicroseconds(world.server.data) });
const http = (request: Request) =>
  closedLoop({ url: gateway.url, request, connections: CONNECTIONS, seconds: SECONDS });
const webSocketUrl = `${gateway.url.replace('http', 'ws')}/graphql`;
const connect = (): Client =>
  createClient({
    url: webSocketUrl,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: headers.authorization },
    retryAttempts: 0,
  });

const APOLLO = 'application/graphql-response+json,application/json;q=0.9';
const parameters = new URLSearchParams({ query: asked.query, variables: JSON.stringify(asked.variables) });
const ways: Record<string, () => Promise<LoadResult>> = {
  POST: () => http({ method: 'POST', path: '/graphql', headers, body: JSON.stringify(asked) }),
  'POST by Apollo Client': () =>
    http({ method: 'POST', path: '/graphql', headers: { ...headers, accept: APOLLO }, body: JSON.stringify(asked) }),
  GET: () => http({ method: 'GET', path: `/graphql?${parameters}`, headers: { ...headers, accept: APOLLO } }),
  WebSocket: byWebSocket,
};

/** Each connection sends the next document after each response; responses are not parsed, to keep the load cheap. */
async function byWebSocket(): Promise<LoadResult> {
  const times: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  const ask = async () => {
    const socket = new WebSocket(webSocketUrl, 'graphql-transport-ws');
    let heard = Promise.withResolvers<void>();
    socket.on('message', (data) => {
      if (!String(data).startsWith('{"id":"1","type":"next"')) heard.resolve();
    });
    const send = (message: unknown) => {
      heard = Promise.withResolvers<void>();
      socket.send(JSON.stringify(message));
      return heard.promise;
    };
    await once(socket, 'open');
    await send({ type: 'connection_init', payload: { authorization: headers.authorization } });
    while (performance.now() < end) {
      const sent = performance.now();
      await send({ id: '1', type: 'subscribe', payload: asked });
      times.push(performance.now() - sent);
    }
    socket.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, ask));
  return { rate: times.length / SECONDS, answers: times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

const samples = await inTurns(Object.keys(ways), Number(options.rounds), async (way) => {
  const before = cost();
  const answered = (await ways[way]?.()) as LoadResult;
  const after = cost();
  const each = (key: keyof typeof after) => (after[key] - before[key]) / answered.answers;
  return { ...answered, own: each('own'), server: each('server') };
});
const middle = (way: string, key: 'own' | 'server' | 'p50' | 'p99') =>
  median((samples.get(way) ?? []).map((sample) => sample[key]));
printTable(
  ['way', 'CPU µs', 'more', 'PostgreSQL µs', 'p50 ms', 'p99 ms'],
  Object.keys(ways).map((way) => [
    way,
    figure(middle(way, 'own')),
    figure(middle(way, 'own') - middle('POST', 'own')),
    ...(['server', 'p50', 'p99'] as const).map((key) => figure(middle(way, key))),
  ]),
);

await follow(Number(options.followers));

/** Subscribes `followers` clients to the events of a company; prints the time until all have 100 new vehicles. */
async function follow(followers: number): Promise<void> {
  const clients = Array.from({ length: Math.ceil(followers / PER_SOCKET) }, connect);
  const query = 'subscription { events(filter: { types: [VEHICLE_ADDED] }) { id vehicles { vin } } }';
  const heard = Array<number>(followers).fill(0);
  const ended: unknown[] = [];
  const all = Promise.withResolvers<void>();
  for (const at of heard.keys()) {
    clients[at % clients.length]?.subscribe<{ events: { vehicles: unknown[] } }>(
      { query },
      {
        next({ data, errors }) {
          if (errors) ended.push(errors);
          heard[at] = (heard[at] ?? 0) + (data?.events.vehicles.length ?? 0);
          if (heard.every((count) => count >= VEHICLES)) all.resolve();
        },
        error: (error) => void ended.push(error),
        complete: () => void ended.push('complete'),
      },
    );
  }
  // Adds vehicles until every follower has received one.
  for (let at = 0; !heard.every((count) => count > 0); at++) await add(at);
  heard.fill(0);
  const [began, before] = [performance.now(), cost()];
  for (let at = 0; at < VEHICLES; at++) await add(1_000_000 + at);
  await all.promise;
  const after = cost();
  console.log(
    `\n${followers} followers, ${VEHICLES} vehicles: ${figure(performance.now() - began)} ms until the last has heard of the last, ` +
      `CPU ${figure((after.own - before.own) / 1000)} ms, of PostgreSQL ${figure((after.server - before.server) / 1000)} ms; ` +
      `${ended.length} streams ended`,
  );
  await Promise.all(clients.map((client) => client.dispose()));
}

async function add(at: number): Promise<void> {
  const vins = [`WP0${String(at).padStart(14, '0')}`];
  const body = JSON.stringify({ fleetId: fleetOf100, vins });
  const { status } = await fetch(`${gateway.url}/vehicles`, { method: 'POST', headers, body });
  if (status !== 201) throw new Error(`a vehicle was answered with ${status}`);
}
