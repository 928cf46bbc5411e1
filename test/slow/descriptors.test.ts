// Uses up the gateway's file descriptors.
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createClient } from 'graphql-ws';
import { expect, inject, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { databaseEnv } from '../support/database.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();
const LIMIT = 150;
const authorization = `Bearer ${issuer.sign({ company: 'acme' })}`;
const headers = { authorization, 'content-type': 'application/json' };

/** A connection that stays open, for requests while the process can open no other. */
async function keptConnection(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const send = (path: string, { method = 'GET', body = '', ...more }: Record<string, string> = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const req = request(`${url}${path}`, { agent, method, headers: { ...headers, ...more } });
      req.once('response', resolve).once('upgrade', resolve).once('error', reject).end(body);
    });
  await text(await send('/livez'));
  return send;
}

const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-protocol': 'graphql-transport-ws',
};

test('a process without a free file descriptor answers 503, then recovers', async () => {
  const command = ['sh', '-c', `ulimit -n ${LIMIT} && exec "$0" src/main.ts`, process.execPath];
  const gateway = await spawnGateway({ ...env, WORKERS: 'off' }, { issuer, command });
  // Makes the gateway read the issuer's keys and open a connection to the database.
  expect((await gateway.as('acme').get('/fleets')).status).toBe(200);
  const asking = await Promise.all(Array.from({ length: 6 }, () => keptConnection(gateway.url)));
  const { hostname, port } = new URL(gateway.url);
  const clients: Socket[] = [];
  const letGo = () => {
    for (const client of clients.splice(0)) client.destroy();
  };
  onTestFinished(letGo);
  const takeAll = () => {
    const refused = () => clients.filter(({ closed }) => closed).length;
    const before = refused();
    return until(() => {
      clients.push(
        connect(Number(port), hostname)
          .on('error', () => {})
          .resume(),
      );
      // The process accepts a connection without a descriptor for it, and closes it.
      return refused() > before;
    });
  };

  await takeAll();
  // The open connection to the database serves; requests beside it do not wait for another.
  const rest = asking.map(async (send) => {
    const answer = await send('/fleets');
    return `${answer.statusCode} ${JSON.parse(await text(answer)).code}`;
  });
  const outcomes = new Set(await Promise.all(rest));
  const query = JSON.stringify({ query: '{ fleets { totalCount } }' });
  const graphql = asking.map(async (send) => {
    const answer = await send('/graphql', { method: 'POST', body: query });
    return `${answer.statusCode} ${JSON.parse(await text(answer)).errors?.[0].extensions.code}`;
  });
  for (const outcome of await Promise.all(graphql)) outcomes.add(outcome);
  const served = '200 undefined';
  expect(outcomes).toEqual(new Set(kind === 'postgresql' ? [served, '503 UNAVAILABLE'] : [served]));
  await takeAll();
  // Sent together, since a refused request frees its descriptor for the next.
  for (const refused of await Promise.all(asking.map((send) => send('/graphql', upgrade)))) {
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1']);
  }

  letGo();
  await until(async () => (await gateway.as('acme').get('/fleets')).status === 200);
  const socket = createClient({
    url: `${gateway.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { Authorization: authorization },
    retryAttempts: 0,
  });
  const results = await Array.fromAsync(socket.iterate({ query: '{ fleets { totalCount } }' }));
  expect(results).toMatchObject([{ data: { fleets: { totalCount: 0 } } }]);
  await socket.dispose();
});
