// Kills and restarts PostgreSQL, cuts and silences its network: answers are 2xx or 503.
import dns from 'node:dns';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { fleetFields } from '../support/factories.ts';
import { bearer, spawnGateway, startGateway, testIssuer } from '../support/gateway.ts';
import { Load } from '../support/load.ts';
import { durable, type Server, startServer } from '../support/postgres-server.ts';
import { TcpProxy, withoutTls } from '../support/tcp-proxy.ts';
import { mayMount, mountTmpfs } from '../support/tmpfs.ts';
import { until } from '../support/until.ts';

const { kind, folder } = inject('database');
const issuer = await testIssuer();

/** A gateway that reaches `server` through a proxy, under load until the test ends. */
async function underLoad(server: Server, settings: NodeJS.ProcessEnv = {}, clients = 8) {
  const network = await TcpProxy.start(server.url);
  onTestFinished(() => network.close());
  const gateway = await spawnGateway(
    { DATABASE_URL: network.through(server.url), DATA_DIR: folder, ...settings },
    { issuer },
  );
  const load = new Load(gateway.url, () => bearer(issuer.sign({ company: 'acme' })), clients);
  onTestFinished(() => load.stop());
  await delay(1_000);
  return { network, gateway, load };
}

interface Fault {
  load: Load;
  server: Server;
  /** The time at which the database was back. */
  returned: number;
  /** Permitted errors beside 503. */
  refused?: string[];
}

/** Checks every response. */
async function expectNothingLost({ load, server, returned, refused = [] }: Fault) {
  const isReady = () =>
    load.probes.some(({ what, status, began }) => what === '/readyz' && status === 200 && began > returned);
  const isServed = () => load.sent.some(({ status, began }) => status < 300 && began > returned);
  // A second after the first success, no request may fail.
  const works = await until(() => isReady() && isServed() && performance.now() + 1_000);
  await until(() => load.since(works).length >= 50);
  await load.stop();
  const kinds = (sent: Load['sent']) => [...new Set(sent.map(({ status, code }) => `${status} ${code ?? ''}`.trim()))];
  // Until then, the only error is 503 UNAVAILABLE, in both interfaces, with Retry-After.
  expect(['200', '201', '503 UNAVAILABLE', ...refused]).toEqual(expect.arrayContaining(kinds(load.sent)));
  expect(load.sent.filter(({ status, retryAfter }) => status >= 300 && !retryAfter)).toEqual([]);
  // Five seconds for a place, three for a lock.
  const slowest = load.sent.reduce((a, b) => (b.ended - b.began > a.ended - a.began ? b : a));
  expect(slowest.ended - slowest.began, JSON.stringify(slowest)).toBeLessThan(9_000);
  expect(kinds(load.since(works))).toEqual(expect.not.arrayContaining(['503 UNAVAILABLE']));
  expect(kinds(load.probes.filter(({ what }) => what === '/livez'))).toEqual(['200']);
  expect(load.probes.findLast(({ what }) => what === '/readyz')?.status).toBe(200);
  expect(load.acknowledged.length).toBeGreaterThan(50);
  expect(await load.missing(server.admin)).toEqual([]);
}

const unready = (load: Load) => load.probes.some(({ what, status }) => what === '/readyz' && status === 503);

describe.runIf(kind === 'postgresql')('The database, under load', async () => {
  const server = kind === 'postgresql' ? await startServer(durable) : ({} as Server);
  afterAll(() => server.stop?.());
  const sql = async (statement: string) => {
    const client = new pg.Client(server.admin);
    await client.connect();
    return (await client.query(statement).finally(() => client.end())).rows;
  };
  const backends = () =>
    sql(`select pid from pg_stat_activity where application_name = 'fleet-gateway' and pid <> pg_backend_pid()`);

  test('its backends are terminated', async () => {
    const { load } = await underLoad(server);
    await sql(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fleet-gateway'`);
    await expectNothingLost({ load, server, returned: performance.now() });
  });

  test('a backend is killed with -9, and the server starts all over', async () => {
    const { load } = await underLoad(server);
    const [backend] = await backends();
    process.kill(backend?.pid, 'SIGKILL');
    await answering(server);
    await expectNothingLost({ load, server, returned: performance.now() });
  });

  test('the server is restarted', async () => {
    const { load } = await underLoad(server);
    await server.end('SIGINT');
    await delay(2_000);
    await server.start();
    await expectNothingLost({ load, server, returned: performance.now() });
    expect(unready(load)).toBe(true);
  });

  test('the server is killed with -9', async () => {
    const { load } = await underLoad(server);
    await server.end('SIGKILL');
    await delay(2_000);
    await server.start();
    await expectNothingLost({ load, server, returned: performance.now() });
    expect(unready(load)).toBe(true);
  });

  test('the network is cut and refuses connections', async () => {
    const { load, network } = await underLoad(server);
    network.refuse = true;
    network.cut();
    await delay(3_000);
    network.refuse = false;
    await expectNothingLost({ load, server, returned: performance.now() });
    expect(unready(load)).toBe(true);
  });

  test('the network hangs for 12 seconds: requests fail after 5, and then at once', async () => {
    const { load, network } = await underLoad(server);
    const hung = performance.now();
    network.hang = true;
    await delay(12_000);
    network.hang = false;
    const returned = performance.now();
    await expectNothingLost({ load, server, returned });
    expect(unready(load)).toBe(true);
    const found = load.sent.find(({ status, ended }) => status === 503 && ended > hung)?.ended ?? returned;
    const late = load.sent.filter(({ began }) => began > found + 1_000 && began < returned - 500);
    expect(late.length).toBeGreaterThan(0);
    const times = late.map(({ began, ended }) => ended - began).toSorted((a, b) => a - b);
    expect(times[Math.floor(times.length / 2)]).toBeLessThan(500);
  });

  test('the network swallows the answers of some connections: their requests get 503 within a minute', async () => {
    const network = await TcpProxy.start(server.url);
    onTestFinished(() => network.close());
    const gateway = await spawnGateway({ DATABASE_URL: network.through(server.url), DATA_DIR: folder }, { issuer });
    const acme = gateway.as('acme');
    const { body: fleet } = await acme.post('/fleets', fleetFields);
    // Connections of now never get an answer again; new ones do.
    network.swallowAnswersAfter = () => true;
    const lost = [
      acme.get('/fleets?limit=1'),
      acme.post('/fleets', fleetFields),
      acme.patch(`/fleets/${fleet.id}`, { name: 'Pool' }),
      acme.post('/graphql', { query: '{ fleets(first: 1) { totalCount } }' }),
      acme.delete(`/fleets/${crypto.randomUUID()}`),
    ];
    await delay(500);
    network.swallowAnswersAfter = () => false;
    const answers = await Promise.all(lost);
    const refused = answers.filter(({ status }) => status !== 200);
    // What reads is asked again on another connection.
    expect(answers.map(({ status }) => status)).toEqual([200, 503, 503, 200, 503]);
    expect(refused.map(({ body, headers }) => [body.code, headers.has('retry-after')])).toEqual(
      Array(3).fill(['UNAVAILABLE', true]),
    );
    expect((await acme.patch(`/fleets/${fleet.id}`, { name: 'Pool' })).status).toBe(200);
  });

  test('the network adds 100 ms each way: everything is slower and nothing fails', async () => {
    const { load, network } = await underLoad(server);
    network.delayMs = 100;
    await delay(4_000);
    network.delayMs = 0;
    await expectNothingLost({ load, server, returned: performance.now() });
    expect(load.sent.filter(({ status }) => status >= 300)).toEqual([]);
  });

  test('every connection of the pool waits for a lock, and others for a connection', async () => {
    const { load } = await underLoad(server, {}, 60);
    const holder = new pg.Client(server.admin);
    await holder.connect();
    await holder.query('begin; lock table fleet in access exclusive mode');
    await delay(8_000);
    await holder.query('rollback');
    await holder.end();
    await expectNothingLost({ load, server, returned: performance.now(), refused: ['429 RATE_LIMITED'] });
    expect(load.sent.some(({ status }) => status === 429)).toBe(true);
  });

  test('statements run into their time limit', async () => {
    const { load } = await underLoad(server);
    const holder = new pg.Client(server.admin);
    await holder.connect();
    await holder.query('begin; lock table fleet in access exclusive mode');
    // Less than short reads have, which go on as long ones then.
    await delay(200);
    // Cancels the statements as the time limit does.
    await sql(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'`);
    await holder.query('rollback');
    await holder.end();
    await expectNothingLost({ load, server, returned: performance.now() });
    expect(load.sent.some(({ status }) => status === 503)).toBe(true);
  });

  test('other clients use up its connections', async () => {
    const { load } = await underLoad(server);
    const others: pg.Client[] = [];
    for (let full = false; !full; ) {
      const client = new pg.Client(server.admin);
      client.on('error', () => {});
      full = await client.connect().then(
        () => false,
        () => true,
      );
      if (!full) others.push(client);
    }
    // Makes the gateway connect anew.
    await others[0]?.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'fleet-gateway'`,
    );
    await delay(2_000);
    await Promise.all(others.map((client) => client.end()));
    await expectNothingLost({ load, server, returned: performance.now() });
  });
});

describe.runIf(kind === 'postgresql' && mayMount())('A disk of 200 MB', () => {
  test('runs full and is freed again: writes are refused meanwhile, and none is lost', async () => {
    const prepare = (data: string, account: Server['account']) => {
      const owner = account ? `,uid=${account.uid},gid=${account.gid}` : '';
      return mountTmpfs(data, '200m', `,mode=700${owner}`);
    };
    const server = await startServer(durable, { prepare });
    onTestFinished(() => server.stop());
    const { load } = await underLoad(server);
    const ballast = join(server.data, 'ballast');
    const { bavail, bsize } = statfsSync(server.data);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    await delay(8_000);
    rmSync(ballast);
    // Without room for its WAL the server ends itself, as it should; an operator starts it again.
    await server.end('SIGINT');
    await server.start();
    await expectNothingLost({ load, server, returned: performance.now() });
    expect(load.sent.some(({ status }) => status === 503)).toBe(true);
  });
});

/** Resolves when the server answers again. */
async function answering(server: Server): Promise<void> {
  for (;;) {
    const client = new pg.Client(server.admin);
    client.on('error', () => {});
    const answered = await client
      .connect()
      .then(
        () => client.query('select 1').then(() => true),
        () => false,
      )
      .catch(() => false);
    void client.end().catch(() => {});
    if (answered) return;
    await delay(50);
  }
}

describe.runIf(kind === 'postgresql')('The name server of the database', async () => {
  const own = await databaseEnv();
  const address = new URL(own.DATABASE_URL ?? 'postgresql://none');
  const named = withoutTls(Object.assign(address, { hostname: 'database.example' }));

  test('hangs: connections that work stay', async () => {
    const { lookup } = dns;
    const held: (() => void)[] = [];
    let hangs = false;
    const lookups = vi.spyOn(dns, 'lookup').mockImplementation(((
      name: string,
      ...rest: [dns.LookupAllOptions, never]
    ) => {
      const answer = () => lookup(name === 'database.example' ? '127.0.0.1' : name, ...rest);
      if (hangs && name === 'database.example') held.push(answer);
      else answer();
    }) as typeof dns.lookup);
    onTestFinished(() => lookups.mockRestore());
    const database = await openDatabase({ ...databaseConfig(own), DATABASE_URL: named });
    onTestFinished(() => database.close());
    const gateway = await startGateway({ on: { env: own, database } });
    const acme = await gateway.as('acme');
    const ask = async () =>
      [await acme.get('/fleets'), await gateway.anyone.get('/readyz')].map(({ status }) => status);
    expect(await ask()).toEqual([200, 200]);
    hangs = true;
    // Each needs a connection of the pool; the pool has one.
    const sent = Promise.allSettled([1, 2, 3, 4].map(() => gateway.execute('select pg_sleep(1)')));
    await until(() => held.length > 0);
    const statuses: number[] = [];
    for (const end = performance.now() + 8_000; performance.now() < end; await delay(200)) {
      statuses.push(...(await ask()));
    }
    hangs = false;
    for (const answer of held) answer();
    await sent;
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

test.runIf(kind === 'postgresql')('A server whose every answer takes a second is slow, not silent', async () => {
  const env = await databaseEnv();
  const network = await TcpProxy.start(env.DATABASE_URL ?? '');
  onTestFinished(() => network.close());
  const told: string[] = [];
  const settings = { ...databaseConfig(env), DATABASE_URL: network.through(env.DATABASE_URL ?? '') };
  const database = await openDatabase(settings, (message) => told.push(message));
  onTestFinished(() => database.close());
  const gateway = await startGateway({ on: { env, database } });
  network.delayMs = 500;
  // As the statement that stores an import: the server is asked on other connections meanwhile.
  expect(await gateway.execute('select 1 as stored from pg_sleep(10)')).toEqual([{ stored: 1 }]);
  expect(told).toEqual([]);
});
