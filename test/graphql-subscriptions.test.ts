import { randomUUID } from 'node:crypto';
import { createClient, type Client as SseClient } from 'graphql-sse';
import { expect, onTestFinished, test, vi } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { followEligibilityChanges } from '../src/core/following/follow-changes.ts';
import { followImportChanges } from '../src/core/following/follow-import.ts';
import type { Client, Json } from './support/client.ts';
import { addVehicle, addVehicles, createFleet, newVin, newVins, unknownId } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

const gateway = await startGateway({ workers: true });
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');
const { changes, followers } = gateway.services;

const CHANGED =
  'subscription ($fleetId: ID) { eligibilityChanged(fleetId: $fleetId) { eligibility { vin status manufacturer { id } } } }';
const PROGRESS =
  'subscription ($importId: ID!) { importProgress(importId: $importId) { id state received created fleet { id } } }';

/** Events as graphql-sse, a client of the protocol, receives them. */
function subscribe(client: Client, query: string, variables: Json = {}) {
  const sse: SseClient = createClient({ url: `${gateway.url}/graphql`, headers: client.headers, retryAttempts: 0 });
  onTestFinished(() => sse.dispose());
  const events: Json[] = [];
  const ended = Promise.withResolvers<void>();
  const stop = sse.subscribe(
    { query, variables },
    { next: (event) => void events.push(event), error: ended.reject, complete: () => ended.resolve() },
  );
  ended.promise.catch(() => {});
  return { events, stop, ended: ended.promise };
}

const listeners = () => followers.count;
/** Resolves when `count` subscriptions are open in addition to the service's own followers. */
const open = (count: number, before: number) => expect.poll(listeners).toBe(before + count);
const before = listeners();

test.each([
  [undefined, 200],
  ['*/*', 200],
  ['text/event-stream', 200],
  ['multipart/mixed, text/event-stream;q=0.5', 200],
  ['multipart/mixed', 406],
])('a subscription is answered as events alone: Accept %s', async (accept, status) => {
  const address = `${gateway.url}/graphql?query=${encodeURIComponent('subscription { events { id } }')}`;
  const headers = { authorization: String(acme.headers.authorization), ...(accept && { accept }) };
  const answer = await fetch(address, { headers });
  await answer.body?.cancel();
  const type = status === 200 ? 'text/event-stream' : null;
  expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({ status, type });
});

test.each(['application/json', 'application/graphql-response+json'])(
  'a subscription for which the client accepts %s alone is told what to accept',
  async (accept) => {
    const { status, headers, body } = await acme.post(
      '/graphql',
      { query: 'subscription { events { id } }' },
      { accept },
    );
    expect([status, headers.get('accept')]).toEqual([406, 'text/event-stream']);
    expect(headers.get('content-type')).toBe(`${accept}; charset=utf-8`);
    expect(body.errors).toMatchObject([
      { message: expect.stringContaining('WebSocket'), extensions: { errors: [{ path: 'Accept' }] } },
    ]);
    await open(0, before);
  },
);

test('eligibilityChanged sends each new answer of the company, or of one fleet', async () => {
  const fleet = await createFleet(acme);
  const all = subscribe(acme, CHANGED);
  const one = subscribe(acme, CHANGED, { fleetId: fleet.id });
  const theirs = subscribe(globex, CHANGED);
  await open(3, before);
  const [vin = '', other = ''] = [newVin(0), newVin(7)];
  await addVehicles(acme, [vin], fleet);
  await addVehicles(acme, [other]);
  const event = (of: string, status: string) => ({
    data: { eligibilityChanged: { eligibility: { vin: of, status, manufacturer: { id: 'bmw' } } } },
  });
  await expect.poll(() => all.events.length).toBe(2);
  expect(all.events).toEqual(expect.arrayContaining([event(vin, 'ELIGIBLE'), event(other, 'INELIGIBLE')]));
  await expect.poll(() => one.events).toEqual([event(vin, 'ELIGIBLE')]);
  expect(theirs.events).toEqual([]);
});

test('names with a meaning in JavaScript are allowed in events, too', async () => {
  const odd =
    'subscription { eligibilityChanged { then: eligibility { then: vin __proto__: status constructor: manufacturer { then: id } } } }';
  const { events } = subscribe(acme, odd);
  await until(() => (listeners() > before ? true : null));
  const vin = newVin(0);
  await addVehicles(acme, [vin]);
  const event = await until(() => events[0] ?? null);
  const told = `{"then":{"then":"${vin}","__proto__":"ELIGIBLE","constructor":{"then":"bmw"}}}`;
  expect(JSON.stringify(event)).toBe(`{"data":{"eligibilityChanged":${told}}}`);
});

test('a client that disconnects leaves no listener behind', async () => {
  await open(0, before);
  const some = Array.from({ length: 5 }, () => subscribe(acme, CHANGED));
  const imports = Array.from({ length: 5 }, () => subscribe(acme, PROGRESS, { importId: randomUUID() }));
  await open(10, before);
  for (const { stop } of [...some, ...imports]) stop();
  await open(0, before);
});

test('a fleet of another company is as unknown as one that does not exist', async () => {
  const { id } = await createFleet(globex);
  for (const fleetId of [id, unknownId, 'nonsense']) {
    const { events, ended } = subscribe(acme, CHANGED, { fleetId });
    await ended;
    expect(events).toMatchObject([{ errors: [{ extensions: { code: 'FLEET_NOT_FOUND' } }] }]);
  }
  await open(0, before);
});

test('importProgress may be opened before its import, and ends with the final counts', async () => {
  const fleet = await createFleet(acme);
  const importId = randomUUID();
  const own = subscribe(acme, PROGRESS, { importId });
  const theirs = subscribe(globex, PROGRESS, { importId });
  await open(2, before);
  const form = new FormData();
  const query = 'mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { import { id } } }';
  form.append(
    'operations',
    JSON.stringify({ query, variables: { input: { fleetId: fleet.id, importId, dryRun: true, file: null } } }),
  );
  form.append('map', '{"0":["variables.input.file"]}');
  form.append('0', new Blob([newVins(5000).join('\n')], { type: 'text/csv' }), 'vins.csv');
  expect((await acme.post('/graphql', form)).body.errors).toBeUndefined();
  await own.ended;
  const states = own.events.map(({ data }) => data.importProgress);
  expect(states.at(-1)).toEqual({
    id: importId,
    state: 'COMPLETED',
    received: 5000,
    created: 5000,
    fleet: { id: fleet.id },
  });
  expect(states.slice(0, -1).every(({ state }) => ['RUNNING', 'STORING'].includes(state))).toBe(true);
  expect(theirs.events).toEqual([]);
  theirs.stop();
  const late = subscribe(acme, PROGRESS, { importId });
  await late.ended;
  expect(late.events).toHaveLength(1);
  await open(0, before);
});

test('importProgress of an invalid id is refused', async () => {
  const { events, ended } = subscribe(acme, PROGRESS, { importId: 'nonsense' });
  await ended;
  expect(events).toMatchObject([{ errors: [{ extensions: { code: 'IMPORT_NOT_FOUND' } }] }]);
});

test('without a token a subscription is 401', async () => {
  const { ended } = subscribe(gateway.anyone, CHANGED);
  await expect(ended).rejects.toMatchObject({ response: { status: 401 } });
});

test('an idle stream is kept alive by comments', async () => {
  const leaving = new AbortController();
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { ...acme.headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ query: CHANGED }),
    signal: leaving.signal,
  });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if ((text.match(/^:$/gm)?.length ?? 0) >= 3) break;
  }
  leaving.abort();
  await open(0, before);
});

test('a slow reader gets the latest answer of each vehicle, once', async () => {
  const client = new AbortController();
  const ctx = contextOf(gateway.services, 'test', {
    company: 'reading',
    subject: '',
    scopes: null,
    expiresAt: Number.POSITIVE_INFINITY,
  });
  const { id, vin } = await addVehicle(await gateway.as('reading'), newVin(8));
  const answers = await followEligibilityChanges(ctx, {}, client.signal);
  const news = { company: 'reading', vehicles: [[id, vin]] as [string, string][] };
  for (let times = 0; times < 1000; times++) changes.emit('eligibility', news);
  changes.emit('eligibility', { ...news, company: 'globex' });
  expect(await answers.next()).toMatchObject({ done: false, value: { vin } });
  // Remaining answers would come before the next vehicle.
  const other = await addVehicle(await gateway.as('reading'), newVin(8));
  changes.emit('eligibility', { company: 'reading', vehicles: [[other.id, other.vin]] });
  expect(await answers.next()).toMatchObject({ done: false, value: { vin: other.vin } });
  client.abort();
  expect(await answers.next()).toEqual({ done: true, value: undefined });
  await open(0, before);
});

test('a reader that is too slow for all changes gets an error, not a gap', async () => {
  const { events, ended } = subscribe(await gateway.as('flooding'), CHANGED);
  await open(1, before);
  const vehicles = Array.from({ length: 10_001 }, (): [string, string] => [randomUUID(), newVin()]);
  changes.emit('eligibility', { company: 'flooding', vehicles });
  await ended;
  expect(events).toMatchObject([{ errors: [{ extensions: { code: 'UNAVAILABLE', requestId: expect.any(String) } }] }]);
  await open(0, before);
});

test('after missing notifications, missed answers are read', async () => {
  const company = 'missing';
  const fleet = await createFleet(await gateway.as(company));
  const ctx = contextOf(gateway.services, 'test', {
    company,
    subject: '',
    scopes: null,
    expiresAt: Number.POSITIVE_INFINITY,
  });
  const client = new AbortController();
  const answers = await followEligibilityChanges(ctx, { fleetId: fleet.id }, client.signal);
  changes.removeAllListeners('eligibility');
  const [vehicle] = await addVehicles(await gateway.as(company), [newVin()], fleet);
  await expect
    .poll(async () => (await (await gateway.as(company)).get(`/vehicles/${vehicle.id}`)).body.eligibility.status)
    .toBe('ELIGIBLE');
  changes.emit('missed');
  expect(await answers.next()).toMatchObject({ value: { vin: vehicle.vin, eligibility: { status: 'ELIGIBLE' } } });
  client.abort();
});

test('answers whose news are missed while missed answers are read are told, too', async () => {
  const client = await gateway.as('missing twice');
  const fleet = await createFleet(client);
  const ctx = contextOf(gateway.services, 'test', {
    company: 'missing twice',
    subject: '',
    scopes: null,
    expiresAt: Number.POSITIVE_INFINITY,
  });
  const end = new AbortController();
  const answers = await followEligibilityChanges(ctx, { fleetId: fleet.id }, end.signal);
  changes.removeAllListeners('eligibility');
  const verified = async () => {
    const [vehicle] = await addVehicles(client, [newVin()], fleet);
    await expect
      .poll(async () => (await client.get(`/vehicles/${vehicle.id}`)).body.eligibility.status)
      .toBe('ELIGIBLE');
    return vehicle.vin;
  };
  const first = await verified();
  const { database } = gateway.services;
  const send = database.send.bind(database);
  const [read, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const spy = vi.spyOn(database, 'send').mockImplementation(async (text, values) => {
    const rows = await send(text, values);
    if (!text.includes("coalesce(verified_at, 'infinity'")) return rows;
    read.resolve();
    await answered.promise;
    return rows;
  });
  onTestFinished(() => spy.mockRestore());
  changes.emit('missed');
  const told = answers.next();
  await read.promise;
  const second = await verified();
  changes.emit('missed');
  answered.resolve();
  const vins = [(await told).value?.vin];
  while (!vins.includes(second)) vins.push((await answers.next()).value?.vin);
  expect(new Set(vins)).toEqual(new Set([first, second]));
  end.abort();
});

test('importProgress sends at most ten states a second', async () => {
  const fleet = await createFleet(acme);
  const id = randomUUID();
  await gateway.execute(
    `insert into import (id, company, fleet_id, mode, dry_run, started_at) values ('${id}', 'acme', '${fleet.id}', 'partial', false, now())`,
  );
  const ctx = contextOf(gateway.services, 'test', {
    company: 'acme',
    subject: '',
    scopes: null,
    expiresAt: Number.POSITIVE_INFINITY,
  });
  const client = new AbortController();
  const states = await followImportChanges(ctx, { importId: id }, client.signal);
  const ringing = setInterval(() => changes.emit('import', id), 5);
  const heard: number[] = [];
  for (let count = 0; count < 4; count++) {
    expect(await states.next()).toMatchObject({ value: { state: 'RUNNING' } });
    heard.push(Date.now());
  }
  // Timers may fire a millisecond early.
  expect(heard[3]).toBeGreaterThanOrEqual((heard[0] ?? 0) + 297);
  clearInterval(ringing);
  client.abort();
  expect(await states.next()).toMatchObject({ done: true });
});
