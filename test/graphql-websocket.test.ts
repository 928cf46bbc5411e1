import { request } from 'node:http';
import { createClient, type Client as WsClient } from 'graphql-ws';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import type { Json } from './support/client.ts';
import { addVehicle, addVehicles, createFleet, fleetFields, newVin, unknownId } from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
const { changes, followers } = gateway.services;
const listeners = () => followers.count;
const before = listeners();

const CHANGED = 'subscription ($fleetId: ID) { eligibilityChanged(fleetId: $fleetId) { eligibility { vin status } } }';
const EVENTS = 'subscription { events { id } }';
const wsUrl = (url: string) => `${url.replace('http', 'ws')}/graphql`;
const tokenOf = (client: { headers: Record<string, string> }) => client.headers.authorization ?? '';

/** A client of the graphql-ws library. */
function connect(connectionParams: Json, { url = gateway.url, ...options }: Json = {}): WsClient {
  const client = createClient({
    url: wsUrl(url),
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
    ...options,
  });
  onTestFinished(() => void client.dispose());
  return client;
}
/** Runs an operation; `ended` rejects with its errors or the close event. */
function run(client: WsClient, query: string, variables: Json = {}) {
  const events: Json[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Json[]>();
  const stop = client.subscribe<Json>(
    { query, variables },
    { next: (event) => void events.push(event), error: reject, complete: () => resolve(events) },
  );
  promise.catch(() => {});
  return { events, stop, ended: promise };
}
const own = (client: { headers: Record<string, string> }, options?: Json) =>
  connect({ Authorization: tokenOf(client) }, options);

/** A socket without a client library. */
async function raw(protocols = ['graphql-transport-ws']) {
  const socket = new WebSocket(wsUrl(gateway.url), protocols);
  const messages: Json[] = [];
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  socket.on('error', () => {});
  onTestFinished(() => socket.terminate());
  await Promise.race([new Promise((resolve) => socket.once('open', resolve)), closed]);
  const send = (message: Json) => socket.send(JSON.stringify(message));
  return { socket, messages, closed, send };
}

describe('an operation', () => {
  test.each(['Authorization', 'authorization'])('is a subscription, with the token in %s', async (name) => {
    const fleet = await createFleet(acme);
    const { events } = run(connect({ [name]: tokenOf(acme) }), CHANGED, { fleetId: fleet.id });
    await expect.poll(listeners).toBe(before + 1);
    const vin = newVin(0);
    await addVehicles(acme, [vin], fleet);
    await expect
      .poll(() => events)
      .toEqual([{ data: { eligibilityChanged: { eligibility: { vin, status: 'ELIGIBLE' } } } }]);
  });

  test('is a query or a mutation, too', async () => {
    const client = own(await gateway.as('by-socket'));
    const create = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { name } } }';
    expect(await run(client, create, { input: { ...fleetFields, name: 'By socket' } }).ended).toMatchObject([
      { data: { createFleet: { fleet: { name: 'By socket' } } } },
    ]);
    expect(await run(client, '{ fleets { nodes { name } } }').ended).toEqual([
      {
        data: { fleets: { nodes: [{ name: 'By socket' }] } },
        extensions: { cost: { requestedQueryCost: 51, maximumQueryCost: 60_000 } },
      },
    ]);
  });

  test.each([
    ['{ fleets', 'GRAPHQL_PARSE_FAILED'],
    ['{ flee }', 'GRAPHQL_VALIDATION_FAILED'],
    ['query A { __typename } query B { __typename }', 'OPERATION_RESOLUTION_FAILURE'],
    ['query ($id: ID!) { fleet(id: $id) { id } }', 'VALIDATION_FAILED'],
    ['{ fleets(first: 1000) { nodes { vehicles(first: 1000) { nodes { id } } } } }', 'COST_EXCEEDED'],
    [`${'{a'.repeat(21)}${'}'.repeat(21)}`, 'GRAPHQL_VALIDATION_FAILED'],
    [`subscription { eligibilityChanged(fleetId: "${unknownId}") { eligibility { vin } } }`, 'FLEET_NOT_FOUND'],
  ])('%s is refused with its code', async (query, code) => {
    const client = own(acme);
    await expect(run(client, query).ended).rejects.toMatchObject([
      { message: expect.any(String), extensions: { code, requestId: expect.any(String) } },
    ]);
    // The connection stays open.
    expect(await run(client, '{ __typename }').ended).toMatchObject([{ data: { __typename: 'Query' } }]);
  });

  test('with an error in a field has its data beside the error', async () => {
    const [result] = await run(own(acme), `{ fleet(id: "${unknownId}") { id } manufacturers { id } }`).ended;
    expect(result).toMatchObject({
      data: { fleet: null },
      errors: [{ path: ['fleet'], extensions: { code: 'FLEET_NOT_FOUND' } }],
    });
    expect(JSON.stringify(result)).not.toContain('"http"');
  });

  test('sees nothing of another company', async () => {
    const vehicle = await addVehicle(acme);
    const globex = own(await gateway.as('globex'));
    const { events } = run(globex, CHANGED);
    await expect.poll(listeners).toBe(before + 1);
    const [result] = await run(globex, `{ vehicle(by: { id: "${vehicle.id}" }) { id } }`).ended;
    expect(result.errors).toMatchObject([{ extensions: { code: 'VEHICLE_NOT_FOUND' } }]);
    changes.emit('eligibility', { company: 'acme', vehicles: [[vehicle.id, vehicle.vin]] });
    const theirs = await addVehicle(await gateway.as('globex'), newVin(0));
    await expect.poll(() => events.map(({ data }) => data.eligibilityChanged.eligibility.vin)).toEqual([theirs.vin]);
  });

  test('ends when it is stopped, and with its socket', async () => {
    await expect.poll(listeners).toBe(before);
    const client = own(acme);
    const [first] = [run(client, CHANGED), run(client, EVENTS), run(client, EVENTS)];
    await expect.poll(listeners).toBe(before + 3);
    first?.stop();
    await expect.poll(listeners).toBe(before + 2);
    client.terminate();
    await expect.poll(listeners).toBe(before);
  });

  test('needs its scope', async () => {
    const issuer = await testIssuer();
    const scoped = await startGateway({ on: gateway, issuer, settings: { AUTH_SCOPES: 'on' } });
    const reader = own(await scoped.as('acme', { scope: 'fleets:read' }), { url: scoped.url });
    const [result] = await run(reader, '{ contracts { totalCount } }').ended;
    expect(result.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    const nobody = own(await scoped.as('acme', { scope: '' }), { url: scoped.url });
    await expect(run(nobody, CHANGED).ended).rejects.toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
  });
});

describe('a connection', () => {
  test.each([
    ['no token', undefined],
    ['an empty token', { Authorization: '' }],
    ['a token that is none', { authorization: 'Bearer a.b.c' }],
    ['another scheme', { authorization: 'Basic abc' }],
    ['a token that is no text', { authorization: { toString: 0 } }],
  ])('with %s is closed with 4401', async (_name, connectionParams) => {
    await expect(run(connect(connectionParams), '{ __typename }').ended).rejects.toMatchObject({ code: 4401 });
  });

  test('of a token without a company is closed with 4403', async () => {
    const issuer = await testIssuer();
    const secured = await startGateway({ on: gateway, issuer });
    const nobody = own(await secured.as(''), { url: secured.url });
    await expect(run(nobody, '{ __typename }').ended).rejects.toMatchObject({ code: 4403 });
  });

  test('ends with its token; the client reconnects with another one, and continues', async () => {
    const issuer = await testIssuer();
    const secured = await startGateway({ on: gateway, issuer, workers: true });
    const codes: number[] = [];
    let connected = 0;
    const client = createClient({
      url: wsUrl(secured.url),
      webSocketImpl: WebSocket,
      retryAttempts: 5,
      retryWait: async () => {},
      // Tokens are accepted for 5 s after their expiry.
      connectionParams: async () => {
        connected += 1;
        const lifetime = connected === 1 ? -3 : 600;
        return tokenOfClient(await secured.as('acme', { exp: Math.floor(Date.now() / 1000) + lifetime }));
      },
      on: { closed: (event) => void codes.push((event as CloseEvent).code) },
    });
    onTestFinished(() => void client.dispose());
    const mine = () => secured.services.followers.count;
    const idle = mine();
    const { events } = run(client, CHANGED);
    await expect.poll(() => codes).toEqual([4403]);
    await expect.poll(() => [connected, mine()]).toEqual([2, idle + 1]);
    const { vin } = await addVehicle(await secured.as('acme'), newVin(0));
    await expect.poll(() => events.map(({ data }) => data.eligibilityChanged.eligibility.vin)).toEqual([vin]);
  });
  const tokenOfClient = (client: { headers: Record<string, string> }) => ({ Authorization: tokenOf(client) });

  test('without a protocol is closed with 4406, and of an old protocol at once', async () => {
    expect(await (await raw([])).closed).toBe(4406);
    expect(await (await raw(['graphql-ws'])).closed).toBe(1006);
  });

  test('may not send operations before its token: 4401', async () => {
    const { send, closed } = await raw();
    send({ type: 'subscribe', id: '1', payload: { query: '{ __typename }' } });
    expect(await closed).toBe(4401);
  });

  test.each(['{', '7', '{"type":"nothing"}', '{"type":"next","id":"1","payload":{}}', '\\u0000'])(
    'that sends %s is closed with 4400',
    async (text) => {
      const { socket, closed } = await raw();
      socket.send(text);
      expect(await closed).toBe(4400);
    },
  );

  test('that sends more than LIMIT_JSON_BYTES at once is closed with 1009', async () => {
    const { socket, closed } = await raw();
    socket.send('x'.repeat(1024 * 1024 + 1));
    expect(await closed).toBe(1009);
  });

  test('has at most 50 operations at a time', async () => {
    const { send, messages } = await raw();
    send({ type: 'connection_init', payload: { Authorization: tokenOf(acme) } });
    await until(() => messages[0] ?? null);
    for (let id = 0; id < 51; id++) send({ type: 'subscribe', id: `__proto__${id}`, payload: { query: EVENTS } });
    await until(() => messages[1] ?? null);
    expect(messages.slice(1)).toMatchObject([{ type: 'error', payload: [{ extensions: { code: 'RATE_LIMITED' } }] }]);
    const { id: refused } = messages[1];
    // The others may still be opening: their number would be 49 on its way up, too.
    await expect.poll(listeners).toBe(before + 50);
    send({ type: 'complete', id: refused === '__proto__0' ? '__proto__1' : '__proto__0' });
    await expect.poll(listeners).toBe(before + 49);
    send({ type: 'subscribe', id: 'another', payload: { query: EVENTS } });
    await expect.poll(listeners).toBe(before + 50);
  });

  test('may use the id of a completed operation again, whose answer is not sent', async () => {
    const { send, messages } = await raw();
    send({ type: 'connection_init', payload: { Authorization: tokenOf(acme) } });
    await until(() => messages[0] ?? null);
    const { promise: late, resolve } = Promise.withResolvers<null>();
    const { promise: later, resolve: resolveLater } = Promise.withResolvers<null>();
    const rows = vi.spyOn(gateway.services.database, 'read').mockReturnValueOnce(late).mockReturnValueOnce(later);
    onTestFinished(() => rows.mockRestore());
    const ask = (query: string) => send({ type: 'subscribe', id: '1', payload: { query } });
    ask('{ first: fleets(first: 1) { totalCount } }');
    await until(() => rows.mock.calls.length === 1);
    send({ type: 'complete', id: '1' });
    ask('{ second: fleets(first: 2) { totalCount } }');
    await until(() => rows.mock.calls.length === 2);
    resolve(null);
    send({ type: 'ping' });
    await until(() => messages[1] ?? null);
    resolveLater(null);
    await until(() => messages.find(({ type }) => type === 'complete') ?? null);
    expect(messages.slice(1)).toMatchObject([
      { type: 'pong' },
      { id: '1', type: 'next', payload: { data: { second: expect.anything() } } },
      { id: '1', type: 'complete' },
    ]);
    // The end of a stream is not sent to its successor, either, and neither is what was completed at once.
    ask(EVENTS);
    await expect.poll(listeners).toBe(before + 1);
    for (const query of ['{ third: fleets(first: 3) { totalCount } }', '{ fourth: manufacturers { id } }']) {
      send({ type: 'complete', id: '1' });
      ask(query);
    }
    await until(() => messages[5] ?? null);
    expect(messages.slice(4)).toMatchObject([
      { payload: { data: { fourth: expect.anything() } } },
      { type: 'complete' },
    ]);
    await expect.poll(listeners).toBe(before);
  });

  test('that does not read its answers is not read, either', async () => {
    const { socket, send, messages } = await raw();
    send({ type: 'connection_init', payload: { Authorization: tokenOf(acme) } });
    await until(() => messages[0] ?? null);
    socket.pause();
    const pings = 1_000;
    const payload = { filling: 'x'.repeat(60_000) };
    for (let count = 0; count < pings; count++) send({ type: 'ping', payload });
    // The unsent rest is constant: otherwise the gateway would have read all 60 MB.
    const lefts: number[] = [];
    await until(() => lefts.unshift(socket.bufferedAmount) > 20 && lefts.slice(0, 20).every((one) => one === lefts[0]));
    expect(lefts[0]).toBeGreaterThan(20_000_000);
    socket.resume();
    await until(() => (messages.length === pings + 1 ? true : null));
  });

  test('names with a meaning in JavaScript are valid ids', async () => {
    const { send, messages } = await raw();
    send({ type: 'connection_init', payload: { Authorization: tokenOf(acme) } });
    for (const id of ['__proto__', 'constructor', 'then']) {
      await until(() => (messages.some(({ type }) => type === 'connection_ack') ? true : null));
      send({ type: 'subscribe', id, payload: { query: '{ __typename }' } });
      await until(() => messages.find((one) => one.id === id && one.type === 'complete') ?? null);
    }
  });
});

describe('RATE_LIMIT_PER_MINUTE', () => {
  test('counts the connection and each operation, by its cost', async () => {
    const limited = await startGateway({ on: gateway, settings: { RATE_LIMIT_PER_MINUTE: '5' } });
    const client = own(await limited.as('limited'), { url: limited.url, lazy: false });
    const costly = '{ fleets(first: 1000) { nodes { vehicles(first: 1) { nodes { id } } } } }';
    const use = limited.services.rateLimit;
    expect(await run(client, '{ fleets(first: 1) { totalCount } }').ended).toMatchObject([{ data: {} }]);
    await expect(run(client, costly).ended).rejects.toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
    expect(use.use('company limited', 0).left).toBe(2);
  });
});

test('a request with another Upgrade is handled as usual', async () => {
  const statusOf = (path: string, upgrade: string) =>
    new Promise((resolve, reject) => {
      request(`${gateway.url}${path}`, { headers: { connection: 'upgrade', upgrade, ...acme.headers } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });
  expect(await statusOf('/fleets', 'h2c')).toBe(200);
  expect(await statusOf('/fleets', 'websocket')).toBe(200);
  expect(await statusOf('/graphql?query={__typename}', 'h2c')).toBe(200);
  expect(await statusOf('/graphql', 'websocket')).toBe(400);
});
