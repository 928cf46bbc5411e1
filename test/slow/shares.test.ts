// Another company is served beside locked rows, large requests, WebSockets and uploads.
import { createHash } from 'node:crypto';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import type { Client, Json } from '../support/client.ts';
import { asAdmin } from '../support/database.ts';
import { createFleet, fleetFields, newVins, uploadForm } from '../support/factories.ts';
import { startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

// One company exhausts each shared resource within its limits. Another company and the probes must not notice.

const gateway = await startGateway({ settings: { LIMIT_STATEMENT_SECONDS: '4' } });
const [loud, quiet] = [await gateway.as('loud'), await gateway.as('quiet')];
const [loudFleet, quietFleet] = [await createFleet(loud), await createFleet(quiet)];
const isServer = gateway.database.kind === 'postgresql';

/** Reads, additions and transactions of the other company, all of which must succeed. */
async function othersAreServed(): Promise<void> {
  const answers = await Promise.all([
    quiet.get('/fleets'),
    quiet.post('/fleets', fleetFields),
    quiet.post('/vehicles', { fleetId: quietFleet.id, vins: newVins(3) }),
    quiet.send('PATCH', `/fleets/${quietFleet.id}`, { name: 'Other' }),
    quiet.post('/graphql', { query: '{ fleets { totalCount nodes { vehicles { totalCount } } } }' }),
    gateway.anyone.get('/readyz'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 201, 201, 200, 200, 200]);
}

interface Worst {
  /** A lock that another transaction of the company holds meanwhile. */
  holds: string;
  request: () => Promise<{ status: number; body: Json }>;
}
const worst: Record<string, Worst> = {
  'changes of a fleet that is locked': {
    holds: `select from fleet where id = '${loudFleet.id}' for update`,
    request: () => loud.send('PATCH', `/fleets/${loudFleet.id}`, { name: 'Other' }),
  },
  'vehicles of a fleet that is locked': {
    holds: `select from fleet where id = '${loudFleet.id}' for update`,
    request: () => loud.post('/vehicles', { fleetId: loudFleet.id, vins: newVins(3) }),
  },
  'moves beside another': {
    holds: `select pg_advisory_xact_lock(hashtextextended('["move","loud"]', 0))`,
    request: () =>
      loud.post('/graphql', {
        query: `mutation { moveVehicles(input: { fleetId: "${loudFleet.id}", vins: ["${newVins(1)[0]}"] }) { fleet { id } } }`,
      }),
  },
};

test.skipIf(!isServer).each(Object.entries(worst))('%s', async (_, { holds, request }) => {
  const holder = new pg.Client(asAdmin(gateway.env));
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query(holds);
  const asked = Array.from({ length: 60 }, request);
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await until(async () => (await gateway.execute(waiting)).length >= 2);
  await othersAreServed();
  const answers = await Promise.all(asked);
  // Requests with a place waited for the lock, and all were refused: a retry succeeds, so the service is not unavailable.
  const codes = answers.map(({ body }) => body.code ?? body.errors?.[0]?.extensions?.code);
  expect(new Set(codes)).toEqual(new Set(['RATE_LIMITED']));
  await holder.query('rollback');
  await until(async () => (await request()).status < 300);
});

/** Large requests; `most` run at the same time while other companies send requests. */
const large: Record<string, { most: number; request: () => Promise<{ status: number }> }> = {
  'pages of a long list': { most: 1, request: () => loud.get(`/fleets/${loudFleet.id}/vehicles?limit=1000`) },
  searches: { most: 2, request: () => loud.get('/vehicles?manufacturer=bmw') },
  'pages of a long list in GraphQL': {
    most: 1,
    request: () => loud.post('/graphql', { query: '{ vehicles(first: 500) { nodes { vin } } }' }),
  },
  'searches in GraphQL': {
    most: 2,
    request: () => loud.post('/graphql', { query: '{ vehicles(filter: { manufacturer: "bmw" }) { totalCount } }' }),
  },
  additions: {
    most: 1,
    request: () => loud.post('/vehicles', { fleetId: loudFleet.id, vins: newVins(300) }),
  },
  'additions in GraphQL': {
    most: 1,
    request: () => {
      const query =
        'mutation Add($vins: [String!]!, $fleet: ID!) { addVehicles(input: { fleetId: $fleet, vins: $vins }) { fleet { id } } }';
      return loud.post('/graphql', { query, variables: { fleet: loudFleet.id, vins: newVins(300) } });
    },
  },
};

test.skipIf(!isServer).each(Object.entries(large))('%s of a company take turns', async (_, { most, request }) => {
  const holder = new pg.Client(asAdmin(gateway.env));
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query('lock table vehicle in access exclusive mode');
  const waiting = async () =>
    (
      await gateway.execute(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
    ).length;
  // Two companies send requests.
  expect((await quiet.get('/fleets')).status).toBe(200);
  const answers = Array.from({ length: 6 }, request);
  await until(async () => (await waiting()) === most);
  const other = quiet.get(`/fleets/${quietFleet.id}/vehicles`);
  await until(async () => (await waiting()) === most + 1);
  await holder.query('rollback');
  expect((await other).status).toBe(200);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.every((status) => status < 300)).toBe(true);
});

test.skipIf(!isServer)('files of two companies during long storing', async () => {
  const other = await gateway.as('other');
  const worlds = [
    // The first company has all places but the one that is left for companies without any.
    { client: loud, company: 'loud', fleet: loudFleet, stored: 3 },
    { client: other, company: 'other', fleet: await createFleet(other), stored: 4 },
  ];
  const storing = async () => (await gateway.execute(`select from import where state = 'STORING'`)).length;
  const ended: number[] = [];
  const holder = new pg.Client(asAdmin(gateway.env));
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  const uploads: Promise<{ status: number }>[] = [];
  for (const { client, company, fleet, stored } of worlds) {
    const vins = newVins(3);
    // Each upload waits for a connection that has added its vehicles without a commit.
    await holder.query(
      `insert into vehicle (company, id, fleet_id, vin, created_at) select $1, gen_random_uuid(), $2, vin, now() from unnest($3::text[]) vin`,
      [company, fleet.id, vins],
    );
    for (const vin of vins) {
      const upload = client.post('/vehicles/file', uploadForm(fleet.id, `vin\n${vin}\n`));
      void upload.then(({ status }) => ended.push(status));
      uploads.push(upload);
    }
    await until(async () => {
      expect(ended).toEqual([]);
      return (await storing()) === stored;
    });
  }
  const leases = async () =>
    (
      await gateway.execute<{ due: number }>(
        `select extract(epoch from due_at)::float8 as due from import where due_at is not null order by id`,
      )
    ).map(({ due }) => due);
  let before: number[] = [];
  await until(async () => {
    before = await leases();
    return before.length === uploads.length;
  });
  await othersAreServed();
  for (const { client, fleet } of worlds) {
    expect((await client.patch(`/fleets/${fleet.id}`, { name: 'Busy' })).status).toBe(200);
  }
  // All leases are renewed, so no process takes the uploads for abandoned.
  await until(async () => (await leases()).every((lease, at) => lease > (before[at] ?? Infinity)));
  await holder.query('rollback');
  expect((await Promise.all(uploads)).map(({ status }) => status)).toEqual(uploads.map(() => 201));
});

/** A WebSocket that sends connection_init. */
function connect(client: Client) {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/graphql`, ['graphql-transport-ws']);
  onTestFinished(() => socket.terminate());
  const messages: Json[] = [];
  let closed: number | undefined;
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  socket.once('close', (code) => {
    closed = code;
  });
  const send = (message: Json) => socket.send(JSON.stringify(message));
  socket.once('open', () =>
    send({ type: 'connection_init', payload: { authorization: client.headers.authorization } }),
  );
  return {
    send,
    messages,
    closed: () => closed,
    settled: () => until(() => messages.length > 0 || closed !== undefined),
  };
}

test('a hundred WebSockets, and a thousand operations on them', async () => {
  const sockets = Array.from({ length: 101 }, () => connect(loud));
  for (const { settled } of sockets) await settled();
  expect(sockets.map(({ closed }) => closed()).filter((code) => code !== undefined)).toEqual([1013]);

  const open = sockets.filter(({ closed }) => closed() === undefined);
  const subscribe = (socket: (typeof open)[number], id: number) =>
    socket.send({ type: 'subscribe', id: String(id), payload: { query: 'subscription { events { id } }' } });
  for (const [at, socket] of open.entries()) for (let id = 0; id < 10; id++) subscribe(socket, at * 10 + id);
  await until(() => gateway.services.followers.count === 1000);
  const [first] = open as [(typeof open)[number]];
  subscribe(first, 1000);
  await until(() => first.messages.length > 1);
  expect(first.messages[1]).toMatchObject({
    id: '1000',
    type: 'error',
    payload: [{ extensions: { code: 'RATE_LIMITED' } }],
  });
  const stream = await loud.get('/events/stream');
  expect([stream.status, stream.body.code, stream.headers.get('retry-after')]).toEqual([429, 'RATE_LIMITED', '10']);

  const other = connect(quiet);
  await other.settled();
  other.send({ type: 'subscribe', id: '1', payload: { query: '{ manufacturers { id } }' } });
  await until(() => other.messages.length > 2);
  expect(other.messages.map(({ type }) => type)).toEqual(['connection_ack', 'next', 'complete']);
  await othersAreServed();

  first.send({ type: 'complete', id: '0' });
  await until(() => gateway.services.followers.count === 999);
  subscribe(first, 1001);
  await until(() => gateway.services.followers.count === 1000);
});

test('documents that are stored by hash', async () => {
  const persisted = (query: string) => ({
    persistedQuery: { version: 1, sha256Hash: createHash('sha256').update(query).digest('hex') },
  });
  const known = 'query Known { manufacturers { id } }';
  await quiet.post('/graphql', { query: known, extensions: persisted(known) });
  for (const client of [loud, gateway.anyone]) {
    for (let at = 0; at < 600; at++) {
      const query = `query Filling${at} { __typename }${' '.repeat(16_000)}`;
      await client.post('/graphql', { query, extensions: persisted(query) });
    }
  }
  expect((await quiet.post('/graphql', { extensions: persisted(known) })).body.errors).toBeUndefined();
  const unnamed = 'query Unnamed { __typename }';
  await gateway.anyone.post('/graphql', { query: unnamed, extensions: persisted(unnamed) });
  const { errors } = (await quiet.post('/graphql', { extensions: persisted(unnamed) })).body;
  expect(errors).toMatchObject([{ extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }]);
});
