// Clients that send and read slowly are closed.
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, test } from 'vitest';
import { databaseEnv } from '../support/database.ts';
import { createFleet, newVin, newVins, uploadForm } from '../support/factories.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';
import { openRaw } from '../support/raw.ts';
import { until } from '../support/until.ts';

/** 30 s of patience, 30 s for the contents of a socket's buffers, and some for the check of all connections. */
const CUT_AFTER_MS = 85_000;
const EACH_KIND = 100;

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();

test('clients that send or read slowly are cut and harm no other; uploads and event streams continue', {
  timeout: 240_000,
}, async () => {
  const gateway = await spawnGateway(env, kind === 'postgresql' ? { issuer } : {});
  const client = gateway.as(kind === 'postgresql' ? 'acme' : 'demo');
  const fleet = await createFleet(client);
  const { id: large } = await createFleet(client);
  for (const vins of Array.from({ length: 4 }, () => newVins(10_000))) {
    expect(await client.post('/vehicles/file', uploadForm(large, vins.join('\n')))).toMatchObject({ status: 201 });
  }
  const list = `GET /fleets/${large}/vehicles HTTP/1.1\r\nHost: a\r\nAuthorization: ${client.headers.authorization}\r\nConnection: close\r\n\r\n`;
  let told = '';
  const follower = request(new URL('/events/stream', gateway.url), { headers: client.headers }, (response) => {
    response.on('data', (chunk) => {
      told += chunk;
    });
  }).end();
  const over = new AbortController();
  const script = 'GET /graphiql/any/graphiql.js HTTP/1.1\r\nHost: a\r\n';
  const authorization = `Authorization: ${client.headers.authorization}`;
  const json = `Host: a\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n`;

  const kinds: Record<string, Socket[]> = {
    headers: await slowly('GET /livez HTTP/1.1\r\nHost: a\r\n', 'X: y\r\n'),
    'bodies of a company': await slowly(`POST /fleets HTTP/1.1\r\n${json}${authorization}\r\n\r\n{`, ' '),
    'GraphQL bodies': await slowly(`POST /graphql HTTP/1.1\r\n${json}${authorization}\r\n\r\n{`, ' '),
    'bodies of nobody': await slowly(`POST /fleets HTTP/1.1\r\n${json}\r\n{`, ' '),
    'readers of many answers': await slowly(
      'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(12),
      '',
      20,
    ),
    'readers of a large one': await slowly(`${script}\r\n`, '', 20),
  };
  const readers = Object.keys(kinds).flatMap((name) => (name.startsWith('readers') ? (kinds[name] ?? []) : []));
  for (const socket of Object.values(kinds).flat()) readers.includes(socket) ? socket.pause() : socket.resume();

  async function slowly(first: string, then: string, count = EACH_KIND): Promise<Socket[]> {
    const sockets = await Promise.all(Array.from({ length: count }, () => openRaw(gateway.url)));
    for (const socket of sockets) socket.write(first);
    const more = setInterval(() => {
      if (then) for (const socket of sockets) socket.writable && socket.write(then);
    });
    over.signal.addEventListener('abort', () => {
      clearInterval(more);
      for (const socket of sockets) socket.destroy();
    });
    return sockets;
  }

  /** Uploads a file at 8 kB per second, for longer than a slow client is permitted. */
  async function upload(): Promise<{ status: number | undefined; body: string }> {
    const asked = request(new URL('/vehicles/file', gateway.url), {
      method: 'POST',
      headers: { authorization: client.headers.authorization, 'content-type': 'multipart/form-data; boundary=x' },
    });
    const answered = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      asked.once('response', async (response) => resolve({ status: response.statusCode, body: await text(response) }));
      asked.once('error', reject);
    });
    asked.write(
      `--x\r\nContent-Disposition: form-data; name="fleetId"\r\n\r\n${fleet.id}\r\n--x\r\nContent-Disposition: form-data; name="vins"; filename="vins.csv"\r\nContent-Type: text/csv\r\n\r\nvin\n`,
    );
    for (const end = performance.now() + CUT_AFTER_MS; performance.now() < end; await delay(1_000)) {
      asked.write(Array.from({ length: 450 }, () => `${newVin()}\n`).join(''));
    }
    asked.end('\r\n--x--\r\n');
    return answered;
  }

  /** Reads at 128 kB per second, for longer than a slow client is permitted; returns the number of bytes. */
  async function takeSteadily(asked: string): Promise<number> {
    const socket = await openRaw(gateway.url);
    socket.pause().write(asked);
    let bytes = 0;
    while (!socket.readableEnded && !socket.destroyed) {
      await delay(100);
      bytes += socket.read(Math.min(12_800, socket.readableLength))?.length ?? 0;
    }
    return bytes;
  }

  // 10 MB of a file, and as much of a streamed list.
  const taken = [takeSteadily(`${script}\r\n${script}Connection: close\r\n\r\n`), takeSteadily(list)];
  const uploaded = upload();
  const times: number[] = [];
  for (const end = performance.now() + CUT_AFTER_MS; performance.now() < end; await delay(100)) {
    const start = performance.now();
    expect(await gateway.anyone.get('/livez')).toMatchObject({ status: 200 });
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  expect(sorted[Math.floor(sorted.length * 0.95)]).toBeLessThan(100);
  // A paused socket notices its end only after reading the remaining data.
  for (const socket of readers) socket.resume();
  const left = () => Object.entries(kinds).filter(([, sockets]) => !sockets.every(({ closed }) => closed));
  await until(() => (left().length === 0 ? true : null)).catch(() => {});
  expect(left().map(([name]) => name)).toEqual([]);
  over.abort();

  const { status, body } = await uploaded;
  expect({ status, rejected: JSON.parse(body).summary?.rejected }).toEqual({ status: 201, rejected: 0 });
  const [file = 0, streamed = 0] = await Promise.all(taken);
  expect(file).toBeGreaterThan(9_000_000);
  expect(streamed).toBeGreaterThan(9_000_000);
  told = '';
  await createFleet(client);
  await until(() => (told.includes('event: fleet.created') ? true : null));
  follower.destroy();
});

test.runIf(kind === 'embedded')('a connection without a request gets no response', async () => {
  const { url } = await spawnGateway(await databaseEnv());
  const socket = await openRaw(url);
  let told = '';
  socket.on('data', (chunk) => {
    told += chunk;
  });
  // Longer than the time limit of headers and the next check of all connections.
  await delay(17_000);
  expect([told, socket.readyState]).toEqual(['', 'open']);
  socket.write('GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await until(() => /^HTTP\/1\.1 200 OK/.test(told));
});
