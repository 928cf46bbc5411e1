import { createClient } from 'graphql-sse';
import { expect, onTestFinished, test } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { addVehicles, createFleet, fleetFields, newVin, unknownId } from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
const { changes } = gateway.services;
const listeners = () => changes.listenerCount('eligibility') + changes.listenerCount('event');
const before = listeners();

const CHANGED = 'subscription ($fleetId: ID) { eligibilityChanged(fleetId: $fleetId) { vin status } }';
const EVENTS = 'subscription { events { id } }';

function connect({ headers }: Client, options: Json = {}) {
  const client = createClient({
    url: `${gateway.url}/graphql`,
    // It writes into them.
    headers: { ...headers },
    singleConnection: true,
    retryAttempts: 0,
    ...options,
  });
  onTestFinished(() => client.dispose());
  return client;
}

function run(client: ReturnType<typeof connect>, query: string, variables: Json = {}) {
  const events: Json[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Json[]>();
  const stop = client.subscribe(
    { query, variables },
    { next: (event) => void events.push(event), error: reject, complete: () => resolve(events) },
  );
  promise.catch(() => {});
  return { events, stop, ended: promise };
}

/** A stream that the test reserves itself. */
async function reserve(client: Client) {
  const { status, body: token } = await client.send('PUT', '/graphql');
  expect(status).toBe(201);
  return { 'x-graphql-event-stream-token': token as string };
}
async function openStream(client: Client, headers: Json): Promise<Response> {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const response = await fetch(`${client.url}/graphql`, {
    headers: { ...client.headers, ...headers, accept: 'text/event-stream' },
    signal: gone.signal,
  });
  held.push(response);
  return response;
}
/** fetch cancels the body of a response that is collected before anybody has begun to read it. */
const held: Response[] = [];
const operation = (operationId: string, query = EVENTS) => ({ query, extensions: { operationId } });

test('several operations share one connection', async () => {
  const opened: string[] = [];
  const fetching: typeof fetch = (input, init) => {
    opened.push(init?.method ?? 'GET');
    return fetch(input, init);
  };
  const client = connect(acme, { fetchFn: fetching });
  const fleet = await createFleet(acme);
  const [one, all] = [run(client, CHANGED, { fleetId: fleet.id }), run(client, CHANGED)];
  await expect.poll(listeners).toBe(before + 2);
  const create = 'mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { name } } }';
  expect(await run(client, create, { input: fleetFields }).ended).toEqual([
    expect.objectContaining({ data: { createFleet: { fleet: { name: fleetFields.name } } } }),
  ]);
  const [vin = '', other = ''] = [newVin(0), newVin(0)];
  await addVehicles(acme, [vin], fleet);
  await addVehicles(acme, [other]);
  const vins = ({ events }: { events: Json[] }) => events.map(({ data }) => data.eligibilityChanged.vin).sort();
  await expect.poll(() => [vins(one), vins(all)], { timeout: 10_000 }).toEqual([[vin], [vin, other].sort()]);
  one.stop();
  await expect.poll(listeners).toBe(before + 1);
  client.dispose();
  await expect.poll(listeners).toBe(before);
  expect(opened.filter((method) => method === 'GET')).toHaveLength(1);
});

test('what is wrong comes as an event, with its code', async () => {
  const client = connect(acme);
  run(client, EVENTS);
  for (const [query, code] of [
    ['{ fleets', 'GRAPHQL_PARSE_FAILED'],
    ['{ flee }', 'GRAPHQL_VALIDATION_FAILED'],
    ['{ fleets(first: 1000) { nodes { vehicles(first: 1000) { nodes { id } } } } }', 'COST_EXCEEDED'],
    [`subscription { eligibilityChanged(fleetId: "${unknownId}") { vin } }`, 'FLEET_NOT_FOUND'],
  ] as const) {
    expect(await run(client, query).ended).toMatchObject([{ errors: [{ extensions: { code } }] }]);
  }
});

test('nobody has a stream without a token, and nobody another company’s or person’s', async () => {
  expect(await gateway.anyone.send('PUT', '/graphql')).toMatchObject({ status: 401 });
  const issuer = await testIssuer();
  const secured = await startGateway({ on: gateway, issuer });
  const own = await secured.as('acme', { sub: 'somebody\ud800' });
  const headers = await reserve(own);
  // The database has no text for the halves of characters by which the first and the last differ.
  const subjects = ['somebody else', 'somebody', 'somebody\ud801'];
  const people = subjects.map((sub) => secured.as('acme', { sub }));
  for (const other of await Promise.all([secured.as('globex'), ...people])) {
    expect((await openStream(other, headers)).status).toBe(404);
    expect(await other.post('/graphql', operation('1'), headers)).toMatchObject({ status: 404 });
    expect(await other.delete('/graphql?operationId=1', undefined, headers)).toMatchObject({ status: 404 });
  }
  expect((await openStream(secured.anyone, headers)).status).toBe(401);
  expect((await openStream(own, { 'x-graphql-event-stream-token': 'constructor' })).status).toBe(404);
  expect((await openStream(own, headers)).status).toBe(200);
});

test('a stream is open once, an operation needs an id of its own, and there are 50 at a time', async () => {
  const headers = await reserve(acme);
  expect((await openStream(acme, headers)).headers.get('content-type')).toContain('text/event-stream');
  expect((await openStream(acme, headers)).status).toBe(400);
  expect(await acme.post('/graphql', { query: EVENTS }, headers)).toMatchObject({ status: 400 });
  const operate = (id: string) => acme.post('/graphql', operation(id), headers).then(({ status }) => status);
  for (let id = 0; id < 50; id++) expect(await operate(`__proto__${id}`)).toBe(202);
  expect(await operate('__proto__0')).toBe(400);
  expect(listeners()).toBe(before + 50);
  // It is told by the stream.
  expect(await operate('another')).toBe(202);
  expect(listeners()).toBe(before + 50);
  expect(await acme.delete('/graphql?operationId=__proto__0', undefined, headers)).toMatchObject({ status: 200 });
  await expect.poll(listeners).toBe(before + 49);
});

test('a stream ends with its token, and is not called complete', async () => {
  const issuer = await testIssuer();
  const secured = await startGateway({ on: gateway, issuer });
  // The clock tolerance of tokens is 5 s.
  const brief = await secured.as('acme', { exp: Math.floor(Date.now() / 1000) - 3 });
  const headers = await reserve(brief);
  const stream = await openStream(brief, headers);
  expect(await brief.post('/graphql', operation('1'), headers)).toMatchObject({ status: 202 });
  const text = await stream.text();
  expect(text).toContain(':');
  expect(text).not.toContain('complete');
  expect(await (await secured.as('acme')).post('/graphql', operation('2'), headers)).toMatchObject({ status: 404 });
});
