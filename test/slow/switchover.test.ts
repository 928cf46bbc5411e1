// PostgreSQL's address leads to a standby, a fenced primary or a standby promoted without the last writes.
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import type { Client, Json } from '../support/client.ts';
import { openStream } from '../support/event-stream.ts';
import { createFleet, fleetFields, newVin } from '../support/factories.ts';
import { bearer, spawnGateway, testIssuer } from '../support/gateway.ts';
import { Load } from '../support/load.ts';
import { durable, type Server, startServer } from '../support/postgres-server.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

// A gateway reaches its database by an address that leads to another server for some seconds, as a name or a proxy does while a
// standby takes over. Nobody restarts it.

/** For so long the address leads to the wrong server. */
const MISLED_MS = 8_000;
/** Within this time everything is served again. */
const AGAIN_MS = 15_000;

const { kind, folder } = inject('database');
const issuer = await testIssuer();
const receiver = await WebhookReceiver.start();

async function sql(server: Server, statement: string): Promise<Json[]> {
  const client = new pg.Client(server.admin);
  await client.connect();
  return (await client.query(statement).finally(() => client.end())).rows;
}

/** A primary whose commits wait for its standby, so that none is lost. */
async function startPair(): Promise<{ primary: Server; standby: Server }> {
  const primary = await startServer({ ...durable, synchronous_standby_names: 'standby' });
  onTestFinished(() => primary.stop());
  await primary.end('SIGINT');
  const standby = await primary.standby({ synchronous_standby_names: '' });
  onTestFinished(() => standby.stop());
  await primary.start();
  await until(async () => (await sql(primary, `select from pg_stat_replication where sync_state = 'sync'`)).length > 0);
  return { primary, standby };
}

/** A primary whose commits do not wait for its standby, and the network between them. */
async function startLagging(): Promise<{ primary: Server; standby: Server; replication: TcpProxy }> {
  const primary = await startServer(durable);
  onTestFinished(() => primary.stop());
  const replication = await TcpProxy.start(primary.url);
  onTestFinished(() => replication.close());
  await primary.end('SIGINT');
  const standby = await primary.standby({}, replication.through(primary.url));
  onTestFinished(() => standby.stop());
  await primary.start();
  await until(async () => (await sql(primary, `select from pg_stat_replication where state = 'streaming'`)).length > 0);
  return { primary, standby, replication };
}

/** Has the address lead to another server; connections that were made stay. */
function lead(network: TcpProxy, server: Server): void {
  network.target = { host: '127.0.0.1', port: Number(new URL(server.url).port) };
}

/** Everything that a company does, in a gateway of its own, before a fault and after it. */
async function openWorld(server: Server, path: string) {
  const network = await TcpProxy.start(server.url);
  onTestFinished(() => network.close());
  const settings = { DATABASE_URL: network.through(server.url), DATA_DIR: folder, WEBHOOK_LOOPBACK: 'on' };
  const gateway = await spawnGateway(settings, { issuer });
  const acme = gateway.as('acme');
  const load = new Load(gateway.url, () => bearer(issuer.sign({ company: 'acme' })));
  onTestFinished(() => load.stop());
  const fleet = await createFleet(acme);
  expect((await acme.post('/webhooks', { url: receiver.url(path), types: ['fleet.created'] })).status).toBe(201);
  const heard = { stream: new Set<string>(), socket: new Set<string>() };
  void listen(acme, heard.stream);
  const socket = createClient({
    url: `${gateway.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: acme.headers.authorization },
  });
  onTestFinished(() => void socket.dispose());
  const query = 'subscription { events(filter: { types: [FLEET_CREATED] }) { fleetId } }';
  socket.subscribe(
    { query },
    { next: ({ data }: Json) => heard.socket.add(data.events.fleetId), error: () => {}, complete: () => {} },
  );
  const delivered = (id: string) => receiver.at(path).some(({ event }) => event.fleetId === id);
  /** Where the creation of a fleet was not heard. */
  const deaf = (id: string) => [
    ...(heard.stream.has(id) ? [] : ['stream']),
    ...(heard.socket.has(id) ? [] : ['subscription']),
    ...(delivered(id) ? [] : ['webhook']),
  ];
  // Nobody says when a follower has begun: it hears what is created afterwards.
  await until(async () => {
    const { id } = await createFleet(acme);
    return until(() => deaf(id).length === 0, 2_000).catch(() => false);
  });
  return { network, gateway, acme, load, fleet, deaf };
}

async function listen(client: Client, heard: Set<string>): Promise<void> {
  const stream = await openStream(client, '/events/stream?type=fleet.created');
  onTestFinished(() => stream.close());
  for (;;) {
    const event = await stream.next().catch(() => null);
    if (!event) return;
    heard.add(event.data.fleetId);
  }
}

const mutation = `mutation ($input: CreateFleetInput!) { createFleet(input: $input) { fleet { id } } }`;

type World = Awaited<ReturnType<typeof openWorld>>;

/** Each kind of request and of work succeeds, without an end of the load. */
async function expectServed({ gateway, acme, load, fleet, deaf }: World): Promise<void> {
  const began = performance.now();
  const left = () => Math.max(1, AGAIN_MS - (performance.now() - began));
  const answered = async (what: string, ask: () => Promise<{ status: number; body: Json }>) => {
    const answer = await until(async () => {
      const one = await ask();
      return one.status < 300 && !one.body?.errors && one;
    }, left()).catch(() => null);
    expect({ what, served: answer !== null }).toEqual({ what, served: true });
    return answer?.body;
  };
  const created = await answered('POST /fleets', () => acme.post('/fleets', fleetFields));
  const vin = newVin();
  await answered('POST /vehicles', () => acme.post('/vehicles', { fleetId: fleet.id, vins: [vin] }));
  await answered('PATCH', () => acme.patch(`/fleets/${fleet.id}`, { name: 'Another name' }));
  await answered('a mutation', () => acme.post('/graphql', { query: mutation, variables: { input: fleetFields } }));
  await answered('/readyz', () => gateway.anyone.get('/readyz'));
  await answered('a job', () => acme.get(`/vehicles/eligibility/${vin}`));
  await until(() => deaf(created.id).length === 0, left()).catch(() => null);
  expect(deaf(created.id)).toEqual([]);
  // Whoever has its answer can read it, on each connection for reads.
  for (let times = 0; times < 20; times++) {
    const name = `Fleet ${times}`;
    const { body } = await acme.post('/fleets', { ...fleetFields, name });
    const query = `{ fleet(id: "${body.id}") { name } }`;
    const [one, list, { body: graph }] = await Promise.all([
      acme.get(`/fleets/${body.id}`),
      acme.get(`/fleets?name=${encodeURIComponent(name)}`),
      acme.post('/graphql', { query }),
    ]);
    const found = [one.body.name, list.body.some(({ id }: Json) => id === body.id), graph.data.fleet?.name];
    expect(found).toEqual([name, true, name]);
  }
  await load.stop();
  const late = load.since(performance.now() - 1_000).filter(({ status }) => status >= 500);
  expect(late).toEqual([]);
  const { exitCode } = gateway.process;
  expect(exitCode).toBeNull();
}

describe.runIf(kind === 'postgresql')('The address of the database leads for some seconds to', () => {
  test('a standby, and back to the primary', async () => {
    const { primary, standby } = await startPair();
    const world = await openWorld(primary, '/misled');
    lead(world.network, standby);
    world.network.cut();
    await delay(MISLED_MS);
    lead(world.network, primary);
    await expectServed(world);
    expect(await world.load.missing(primary.admin)).toEqual([]);
    const lines = world.gateway.output().split('\n');
    const readOnly = lines.filter((line) => /The database at \S+ is read-only\./.test(line));
    expect(readOnly).toHaveLength(1);
  });

  test('the primary that was, which is a standby now, and to the new one', async () => {
    const { primary, standby } = await startPair();
    const world = await openWorld(primary, '/switched');
    await primary.end('SIGINT');
    await sql(standby, 'select pg_promote(true, 60)');
    primary.follow(standby);
    await primary.start();
    // What it shows is old from now on.
    await sql(primary, 'select pg_wal_replay_pause()');
    await delay(MISLED_MS);
    lead(world.network, standby);
    await expectServed(world);
    expect(await world.load.missing(standby.admin)).toEqual([]);
  });

  test('the primary that was, which is fenced now, and to the new one', async () => {
    const { primary, standby } = await startPair();
    const world = await openWorld(primary, '/fenced');
    await primary.end('SIGKILL');
    await sql(standby, 'select pg_promote(true, 60)');
    primary.fence();
    await primary.start();
    await delay(MISLED_MS);
    lead(world.network, standby);
    await expectServed(world);
    expect(await world.load.missing(standby.admin)).toEqual([]);
  });

  test('a standby that is promoted without the last writes: followers and webhooks hear all that is left', async () => {
    const { primary, standby, replication } = await startLagging();
    const world = await openWorld(primary, '/lagging');
    const { acme, network, deaf } = world;
    const { id: first } = await createFleet(acme);
    await until(() => deaf(first).length === 0);
    await until(async () => (await sql(standby, `select from event where fleet_id = '${first}'`)).length > 0);
    replication.hang = true;
    const { id: lost } = await createFleet(acme);
    await until(() => deaf(lost).length === 0);
    await primary.end('SIGKILL');
    replication.cut();
    await sql(standby, 'select pg_promote(true, 60)');
    lead(network, standby);
    await expectServed(world);
    expect((await acme.get(`/fleets/${lost}`)).status).toBe(404);
    const left = await sql(
      standby,
      `select fleet_id as id from event where company = 'acme' and type = 'fleet.created'
       and position > (select position from event where fleet_id = '${first}' and type = 'fleet.created')`,
    );
    expect(left.length).toBeGreaterThan(20);
    const unheard = () => left.filter(({ id }) => deaf(id).length > 0);
    await until(() => unheard().length === 0).catch(() => null);
    expect(unheard().map(({ id }) => [id, ...deaf(id)])).toEqual([]);
  });
});
