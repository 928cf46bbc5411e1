// SIGTERM under streams, uploads and WebSockets.
import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import { connect } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import type { Client } from '../support/client.ts';
import { databaseEnv } from '../support/database.ts';
import { addVehicle, createFleet, fleetFields, newVin } from '../support/factories.ts';
import { type SpawnedGateway, spawnGateway, testIssuer } from '../support/gateway.ts';

const { kind } = inject('database');
const env = await databaseEnv();
const issuer = await testIssuer();
const company = kind === 'postgresql' ? 'acme' : 'demo';
const start = (settings: NodeJS.ProcessEnv = {}, command?: string[]) =>
  spawnGateway({ ...env, ...settings }, { ...(kind === 'postgresql' && { issuer }), ...(command && { command }) });

/** Milliseconds from SIGTERM to the exit, whose code must be 0. */
async function stopTime(gateway: SpawnedGateway): Promise<number> {
  const begin = performance.now();
  expect(await gateway.stop()).toBe(0);
  return performance.now() - begin;
}

async function openStream(client: Client, path: string, body?: unknown): Promise<Response> {
  const answer = await fetch(`${client.url}${path}`, {
    headers: { ...client.headers, accept: 'text/event-stream', 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  return answer;
}

/** An upload that has sent a header line and continues when its test says so. */
async function openUpload(client: Client): Promise<ClientRequest> {
  const fleet = await createFleet(client);
  const sending = request(`${client.url}/vehicles/file?fleetId=${fleet.id}`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'multipart/form-data; boundary=part' },
  });
  sending.write('--part\r\nContent-Disposition: form-data; name="vins"; filename="vins.csv"\r\n\r\nvin\n');
  return sending;
}

describe('SIGTERM', () => {
  test('ends event streams at once, unbroken; subscriptions do not complete, so clients return', async () => {
    const gateway = await start();
    const client = gateway.as(company);
    const streams = [
      await openStream(client, '/events/stream'),
      await openStream(client, `/imports/${crypto.randomUUID()}/events`),
      await openStream(client, '/graphql', { query: 'subscription { events { id } }' }),
      await openStream(client, '/graphql', { query: 'subscription { eligibilityChanged { eligibility { vin } } }' }),
    ];
    // A broken stream would be an error here.
    const texts = Promise.all(streams.map((stream) => stream.text()));
    expect(await stopTime(gateway)).toBeLessThan(4_000);
    for (const said of await texts) expect(said).not.toContain('event: complete');
  });

  test('closes WebSockets with 1001; subscriptions do not complete, so clients return', async () => {
    const gateway = await start();
    const client = gateway.as(company);
    const codes: number[] = [];
    let connects = 0;
    const connected = Promise.withResolvers<void>();
    const socketClient = createClient({
      url: `${gateway.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: client.headers,
      retryWait: async () => {},
      retryAttempts: 1,
      on: {
        connected: () => connected.resolve(),
        closed: (event) => void codes.push((event as CloseEvent).code),
        connecting: () => {
          connects += 1;
        },
      },
    });
    onTestFinished(() => void socketClient.dispose());
    const failed = Promise.withResolvers<unknown>();
    let completed = false;
    const sink = {
      next: () => {},
      error: failed.resolve,
      complete: () => {
        completed = true;
      },
    };
    socketClient.subscribe({ query: 'subscription { events { id } }' }, sink);
    await connected.promise;
    expect(await gateway.stop()).toBe(0);
    await failed.promise;
    expect(codes[0]).toBe(1001);
    expect({ completed, cameBack: connects > 1 }).toEqual({ completed: false, cameBack: true });
  });

  test('answers waiting requests for an eligibility at once: 409 with Retry-After', async () => {
    const gateway = await start({ WORKERS: 'off' });
    const client = gateway.as(company);
    const { vin } = await addVehicle(client);
    const waiting = client.get(`/vehicles/eligibility/${vin}`, { prefer: 'wait=30' });
    await client.get('/livez');
    expect(await stopTime(gateway)).toBeLessThan(4_000);
    expect(await waiting).toMatchObject({ status: 409, body: { code: 'ELIGIBILITY_IN_PROGRESS' } });
  });

  test('lets a running upload end', async () => {
    const gateway = await start();
    const client = gateway.as(company);
    const sending = await openUpload(client);
    const answered = once(sending, 'response');
    await delay(200);
    const stopped = gateway.stop();
    await delay(2_500);
    sending.end(`${newVin()}\r\n--part--\r\n`);
    const [answer] = await answered;
    expect(answer.statusCode).toBe(201);
    expect(await json(answer)).toMatchObject({ summary: { created: 1 } });
    expect(await stopped).toBe(0);
  });

  test('cuts an endless upload, and exits with 0 within 10 seconds', async () => {
    const gateway = await start();
    const client = gateway.as(company);
    const sending = await openUpload(client);
    const cut = once(sending, 'error');
    await delay(200);
    expect(await stopTime(gateway)).toBeLessThan(10_000);
    await cut;
  });

  test('answers new connections at /readyz with 503 for a moment, then accepts none', async () => {
    const gateway = await start();
    const stopped = gateway.stop();
    const statuses: (number | string)[] = [];
    for (let last: unknown = 0; last !== 'ECONNREFUSED'; await delay(20)) {
      last = await freshly(gateway.url, '/readyz');
      statuses.push(last as number);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 503, 'ECONNREFUSED'].slice(statuses.includes(200) ? 0 : 1)));
    expect(await stopped).toBe(0);
  });

  test('fails no request on connections that a proxy keeps', async () => {
    const gateway = await start();
    const { headers } = gateway.as(company);
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    const outcomes = new Set<unknown>();
    const visitor = async () => {
      for (let outcome: unknown; outcome !== 'ECONNREFUSED'; ) {
        outcome = await new Promise((resolve) => {
          const asking = request(`${gateway.url}/fleets`, {
            agent,
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
          });
          asking.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
          asking.on('response', (answer) => answer.resume().on('end', () => resolve(answer.statusCode)));
          asking.end(JSON.stringify(fleetFields));
        });
        outcomes.add(outcome);
      }
    };
    const visitors = Promise.all(Array.from({ length: 16 }, visitor));
    await delay(500);
    expect(await gateway.stop()).toBe(0);
    await visitors;
    expect(outcomes).toEqual(new Set([201, 'ECONNREFUSED']));
  });

  test.runIf(process.platform !== 'win32')('to npm alone ends the service too', async () => {
    const gateway = await start({ LOG_LEVEL: 'info' }, ['npm', 'start']);
    gateway.process.kill('SIGTERM');
    await expect.poll(() => freshly(gateway.url, '/livez')).toBe('ECONNREFUSED');
    // The process group has ended by itself.
    await gateway.exited;
    expect(gateway.output()).toMatch(/finishing what is under way/);
  });
});

/** The status of a response on a new connection, or the error code. */
function freshly(url: string, path: string, headers: Record<string, string> = {}): Promise<number | string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const lines = Object.entries({ host: hostname, connection: 'close', ...headers }).map((line) => line.join(': '));
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`),
    );
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    text(socket).then(
      (answer) => resolve(Number(answer.slice(9, 12)) || 'no answer'),
      () => {},
    );
  });
}
