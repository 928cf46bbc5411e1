// A thousand followers share reads.
import { createClient } from 'graphql-ws';
import { expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import { type Caller, contextOf } from '../../src/core/context.ts';
import { type EventFilter, listEvents } from '../../src/core/events/events.ts';
import { followEvents } from '../../src/core/following/follow-events.ts';
import { followImportChanges } from '../../src/core/following/follow-import.ts';
import { readPageArguments } from '../../src/core/sql/page.ts';
import type { Client, Json } from '../support/client.ts';
import { addVehicles, createContract, createFleet, newVins, uploadForm } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const gateway = await startGateway({ workers: true });
const MANY = 60;
const FEW = 5;
const VEHICLES = 100;

const warnings: string[] = [];
process.on('warning', ({ message }) => warnings.push(message));

/** A follower: the received VINs in order, and the end of its stream. */
interface Follower {
  vins: string[];
  ended: unknown;
}

interface Followed {
  followers: Follower[];
  close: () => unknown;
}

const CHANGED = `subscription ($fleetId: ID!) { eligibilityChanged(fleetId: $fleetId) {
  eligibility { status } vehicle { vin fleet { name contracts { totalCount } } contracts { totalCount } } } }`;
const EVENTS = `subscription ($fleetId: ID) { events(filter: { fleetId: $fleetId, types: [ELIGIBILITY_CHANGED] }) {
  id vehicles { vin } } }`;
const EVERY_EVENT = 'subscription { events { id type vehicles { vin } } }';

const vinsIn = ({ data }: Json): string[] => {
  const { eligibilityChanged, events } = data;
  if (eligibilityChanged) {
    expect(eligibilityChanged).toMatchObject({
      eligibility: { status: 'ELIGIBLE' },
      vehicle: { fleet: { contracts: { totalCount: 0 } } },
    });
    return [eligibilityChanged.vehicle.vin];
  }
  return events.type && events.type !== 'ELIGIBILITY_CHANGED' ? [] : events.vehicles.map(({ vin }: Json) => vin);
};

/** Opens ten operations per socket. */
function overWebSocket(query: string) {
  return (client: Client, fleetId: string, count: number): Followed => {
    const connections = Array.from({ length: Math.ceil(count / 10) }, () =>
      createClient({
        url: `${gateway.url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: client.headers.authorization },
        retryAttempts: 0,
      }),
    );
    const close = () => Promise.all(connections.map((one) => one.dispose()));
    const followers = Array.from({ length: count }, (_, at) => {
      const follower: Follower = { vins: [], ended: undefined };
      const end = (why: unknown) => {
        follower.ended ??= why ?? 'complete';
      };
      connections[at % connections.length]?.subscribe<Json>(
        { query, variables: { fleetId } },
        {
          next: (result) => (result.errors ? end(result.errors) : follower.vins.push(...vinsIn(result))),
          error: end,
          complete: () => end('complete'),
        },
      );
      return follower;
    });
    return { followers, close };
  };
}

/** A stream of server-sent events; `vinsOf` reads VINs from their data. */
function overHttp(request: (fleetId: string) => [path: string, init: RequestInit], vinsOf: (data: Json) => string[]) {
  return (client: Client, fleetId: string, count: number): Followed => {
    const leaving = new AbortController();
    const close = () => leaving.abort();
    const [path, init] = request(fleetId);
    const followers = Array.from({ length: count }, () => {
      const follower: Follower = { vins: [], ended: undefined };
      const headers = { ...client.headers, ...(init.headers as Record<string, string>) };
      const read = async () => {
        const response = await fetch(new URL(path, client.url), { ...init, headers, signal: leaving.signal });
        let text = '';
        for await (const piece of response.body?.pipeThrough(new TextDecoderStream() as never) ?? []) {
          const blocks = `${text}${piece}`.split('\n\n');
          text = blocks.pop() ?? '';
          for (const block of blocks) {
            const data = /^data: ?(.*)$/m.exec(block)?.[1];
            if (data) follower.vins.push(...vinsOf(JSON.parse(data)));
          }
        }
        return `status ${response.status}: ${text}`;
      };
      read().then(
        (why) => {
          follower.ended = why;
        },
        (error) => {
          if (!leaving.signal.aborted) follower.ended = error;
        },
      );
      return follower;
    });
    return { followers, close };
  };
}

const json = { 'content-type': 'application/json', accept: 'text/event-stream' };
const ways: Record<string, (client: Client, fleetId: string, count: number) => Followed> = {
  'eligibilityChanged by WebSocket': overWebSocket(CHANGED),
  'events by WebSocket': overWebSocket(EVENTS),
  'all events by WebSocket': overWebSocket(EVERY_EVENT),
  'eligibilityChanged by server-sent events': overHttp(
    (fleetId) => [
      '/graphql',
      { method: 'POST', headers: json, body: JSON.stringify({ query: CHANGED, variables: { fleetId } }) },
    ],
    vinsIn,
  ),
  'GET /events/stream': overHttp(
    (fleetId) => [`/events/stream?fleetId=${fleetId}&type=eligibility.changed`, {}],
    ({ vehicles }) => vehicles.map(({ vin }: Json) => vin),
  ),
};

const sending = ['slowRead', 'read', 'send', 'add'] as const;

/** The number of statements while `count` followers receive the verification of some vehicles, each of them all. */
async function statementsFor(open: (typeof ways)[string], company: string, count: number): Promise<number> {
  const client = await gateway.as(company);
  const fleet = await createFleet(client);
  const { followers, close } = open(client, fleet.id, count);
  const ended = () => followers.filter((one) => one.ended);
  const { followers: all } = gateway.services;
  await until(() => all.count === count || ended().length > 0);
  const spies = sending.map((name) => vi.spyOn(gateway.database, name));
  const vins = newVins(VEHICLES, 0);
  await addVehicles(client, vins, fleet);
  const isDone = (one: Follower) => one.vins.length >= VEHICLES || one.ended;
  await until(() => followers.every(isDone));
  const statements = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  expect(ended()).toEqual([]);
  for (const follower of followers) {
    expect(follower.vins).toEqual(followers[0]?.vins);
    expect(follower.vins.toSorted()).toEqual(vins);
  }
  await close();
  await until(() => all.count === 0);
  return statements;
}

test.each(Object.entries(ways))('%s: followers share reads', { timeout: 240_000 }, async (name, open) => {
  const few = await statementsFor(open, `few ${name}`, FEW);
  const many = await statementsFor(open, `many ${name}`, MANY);
  // The rate of answers determines the batches, not the number of followers.
  expect(many).toBeLessThan(2 * few + VEHICLES);
});

test('a stream waits for its client with one listener at a time', async () => {
  expect(warnings).toEqual([]);
});

/** A caller of this company, in the core's form. */
const callerOf = (company: string, scopes: string[] | null = null): Caller => ({
  company,
  subject: 'test',
  scopes: scopes && new Set(scopes),
  expiresAt: Number.POSITIVE_INFINITY,
});

test('followers of an import share its reads', async () => {
  const client = await gateway.as('importing');
  const fleet = await createFleet(client);
  const importId = crypto.randomUUID();
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const ctx = contextOf(gateway.services, 'test', callerOf('importing'));
  const follow = async () => {
    const states: string[] = [];
    for await (const { state } of await followImportChanges(ctx, { importId }, leaving.signal)) states.push(state);
    return states.at(-1);
  };
  const count = async (followers: number) => {
    const spies = sending.map((name) => vi.spyOn(gateway.database, name));
    const followed = await Promise.all(Array.from({ length: followers }, follow));
    const statements = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    for (const spy of spies) spy.mockRestore();
    return { followed: new Set(followed), statements };
  };
  const during = count(MANY);
  const form = uploadForm(fleet.id, newVins(2_000).join('\n'));
  expect((await client.post(`/vehicles/file?importId=${importId}`, form)).status).toBe(201);
  const { followed, statements } = await during;
  expect(followed).toEqual(new Set(['COMPLETED']));
  expect(statements).toBeLessThan(MANY / 2);
  expect((await count(MANY)).statements).toBeLessThan(10);
});

test('each follower of a log gets the events of its filter and scopes, past and new', {
  timeout: 150_000,
}, async () => {
  const company = 'filters';
  const client = await gateway.as(company);
  const [fleet, other] = [await createFleet(client), await createFleet(client)];
  const [vehicle] = await addVehicles(client, newVins(3), other);
  const since = new Date(Date.now() + 50).toISOString();
  const filters: EventFilter[] = [
    {},
    { types: ['vehicle.added', 'contract.created'] },
    { types: [] },
    { fleetId: fleet.id.toUpperCase() },
    { vehicleId: vehicle.id.toUpperCase() },
    { vehicleId: 'nonsense' },
    { contractId: 'nonsense' },
    { vin: vehicle.vin.toLowerCase() },
    { since },
    { until: since },
    { types: ['vehicle.removed'], vin: vehicle.vin },
  ];
  const scopes = [null, ['fleets:read']];
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const follow = async (filter: EventFilter, allowed: string[] | null, after: string | null) => {
    const heard: string[] = [];
    const ctx = contextOf(gateway.services, 'test', callerOf(company, allowed));
    const events = await followEvents(ctx, { filter, after }, leaving.signal);
    void (async () => {
      for await (const { id } of events) heard.push(id);
    })();
    return heard;
  };
  const both = scopes.flatMap((allowed) => filters.map((filter) => ({ filter, allowed })));
  await until(async () => (await client.get('/events?type=eligibility.changed')).body.length === 3);
  const [last] = (await client.get('/events')).body.slice(-1);
  const live = await Promise.all(both.map(({ filter, allowed }) => follow(filter, allowed, null)));
  await addVehicles(client, newVins(3), fleet);
  await createContract(client, { ...vehicle, fleetId: other.id });
  await client.delete(`/vehicles/${vehicle.id}`);
  const every = live[0] as string[];
  const all = await until(async () => {
    const { body } = await client.get(`/events?limit=1000&after=${last.id}`);
    return body.filter(({ type }: Json) => type === 'eligibility.changed').length === 3 && body;
  });
  await until(() => every.length === all.length);
  for (const [at, { filter, allowed }] of both.entries()) {
    const ctx = contextOf(gateway.services, 'test', callerOf(company, allowed));
    const { items } = await listEvents(ctx, { page: readPageArguments({ first: 1000 }), filter });
    const listed = new Set(items.map(({ id }) => id));
    const wanted = all.map(({ id }: Json) => id).filter((id: string) => listed.has(id));
    const past = await follow(filter, allowed, last.id);
    await until(() => past.length >= wanted.length);
    expect([filter, allowed, live[at], past]).toEqual([filter, allowed, wanted, wanted]);
  }
});
