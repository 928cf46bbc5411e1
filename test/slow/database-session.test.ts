// Times are right with unusual settings of the database session.
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { SESSION } from '../../src/database/session.ts';
import type { Json } from '../support/client.ts';
import { asAdmin, databaseConfig, databaseEnv } from '../support/database.ts';
import { contractFields } from '../support/factories.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { startServer } from '../support/postgres-server.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { newWorld, type World } from '../support/worlds.ts';

const env = await databaseEnv();
const { DATABASE_URL: url } = env;

/** A start-up message with user, database and encoding only, as some poolers forward it. */
function bareStart(message: Buffer): Buffer {
  const texts = message.toString('latin1', 8).split('\0');
  const kept = texts.flatMap((name, at) =>
    at % 2 === 0 && ['user', 'database', 'client_encoding'].includes(name) ? [name, texts[at + 1] ?? ''] : [],
  );
  const body = Buffer.from(`${kept.join('\0')}\0\0`, 'latin1');
  const head = Buffer.from(message.subarray(0, 8));
  head.writeInt32BE(body.length + 8);
  return Buffer.concat([head, body]);
}

const NOW = /^(?:createdAt|updatedAt|startedAt|finishedAt|timestamp|verifiedAt|attemptedAt)$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const TIME = /At$|^timestamp$|^from$|^to$/;
/** The `from` and `to` of an eligibility event are statuses, not times. */
const STATUS = /^[A-Z]+$/;

/** All times in an answer, with the names of their members. */
const timesIn = (value: Json, name = ''): [name: string, time: string][] => {
  if (typeof value === 'string') return TIME.test(name) && !STATUS.test(value) ? [[name, value]] : [];
  if (typeof value !== 'object' || value === null || name === 'changes') return [];
  return Object.entries(value).flatMap(([member, one]) => timesIn(one, Array.isArray(value) ? name : member));
};

const eligibility = 'eligibility { verifiedAt nextAttemptAt }';
const contract = 'contracts { nodes { id from to status createdAt } }';
const document = `query ($fleet: ID!, $import: ID!, $webhook: ID!) {
  fleets { nodes { createdAt updatedAt vehicles { nodes { createdAt ${eligibility} } } } }
  fleet(id: $fleet) { createdAt updatedAt vehicles { nodes { createdAt ${eligibility} ${contract} } } ${contract} }
  events { nodes { type timestamp } } import(id: $import) { startedAt finishedAt }
  webhook(id: $webhook) { createdAt updatedAt deliveries { nodes { createdAt attemptedAt nextAttemptAt } } } ${contract}
}`;

/** All answers with times, by both interfaces. */
async function everything({ client, company, ...world }: World): Promise<Json[]> {
  const { fleetId, vehicleId, vin, contractId, importId, webhookId } = world;
  const conditions = encodeURIComponent(JSON.stringify({ company }));
  const paths = [
    ...['/fleets', `/fleets/${fleetId}`, `/fleets/${fleetId}/vehicles`, `/vehicles/${vehicleId}`],
    ...[`/contracts/${contractId}`, `/contracts?conditions=${conditions}`, `/imports/${importId}`, '/events'],
    ...['/webhooks', `/webhooks/${webhookId}`, `/webhooks/${webhookId}/deliveries`, `/vehicles/eligibility/${vin}`],
  ];
  const answers = await Promise.all(paths.map((path) => client.get(path)));
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  const variables = { fleet: fleetId, import: importId, webhook: webhookId };
  const { body } = await client.post('/graphql', { query: document, variables });
  expect(body.errors).toBeUndefined();
  return [...answers.map((answer) => answer.body), body.data];
}

async function check(gateway: Gateway, company: string): Promise<void> {
  const world = await newWorld(gateway, company);
  const { client, fleetId, vin, contractId, webhookId } = world;
  expect((await client.patch(`/fleets/${fleetId}`, { name: 'Renamed' })).body).toMatchObject({ name: 'Renamed' });
  for (const state of ['PAUSED', 'ACTIVE']) {
    expect((await client.patch(`/webhooks/${webhookId}`, { state })).body).toMatchObject({ state });
  }
  expect((await client.post(`/webhooks/${webhookId}/rotate`)).status).toBe(200);
  // Claims, leases and retries depend on times that the database compares.
  await until(async () => (await client.get(`/vehicles/eligibility/${vin}`)).status === 200);
  const soon = new Date(Date.now() + 1_500).toISOString();
  const fields = contractFields(
    { fleetId, vin },
    { from: soon, to: new Date(Date.now() + 3e6).toISOString(), pack: 'x' },
  );
  const { body: started } = await client.post('/contracts', fields);
  await until(async () => {
    const { body } = await client.get('/events?type=contract.started');
    return body.some((event: Json) => event.contractId === started.id);
  });
  expect((await client.get(`/contracts/${started.id}`)).body).toMatchObject({ from: soon, status: 'ACTIVE' });
  expect((await client.get(`/contracts/${contractId}`)).body.from).toMatch(ISO);
  const times = (await everything(world)).flatMap((answer) => timesIn(answer));
  expect(times.length).toBeGreaterThan(60);
  for (const [name, time] of times) {
    expect([name, time]).toEqual([name, expect.stringMatching(ISO)]);
    if (NOW.test(name)) expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(300_000);
  }
}

describe.runIf(url)('with any session settings of a server', async () => {
  if (!url) return;
  const proxy = await TcpProxy.start(url);
  proxy.firstPiece = bareStart;
  afterAll(() => proxy.close());
  const admin = new pg.Client(asAdmin(env));
  await admin.connect();
  afterAll(() => admin.end());
  const database = admin.database;

  test.each([
    ['SQL, DMY', 'Asia/Tokyo'],
    ['German, DMY', 'America/St_Johns'],
    ['Postgres, MDY', 'Pacific/Kiritimati'],
    ['ISO, YMD', '<+0530>-05:30'],
  ])('DateStyle %s, TimeZone %s: times are right', async (style, zone) => {
    const whose = `role "${decodeURIComponent(new URL(url).username)}" in database ${database}`;
    // As operations.md has it for poolers.
    const settings = { ...SESSION, datestyle: style, timezone: zone, intervalstyle: 'sql_standard' };
    for (const [name, value] of Object.entries(settings)) {
      await admin.query(`alter ${whose} set ${name} = '${value}'`);
    }
    const own = { ...env, DATABASE_URL: proxy.through(url) };
    const opened = await openDatabase(databaseConfig(own));
    const gateway = await startGateway({ on: { env: own, database: opened }, workers: true });
    try {
      const [session] = await gateway.execute<{ style: string; zone: string }>(
        `select current_setting('datestyle') as style, current_setting('timezone') as zone`,
      );
      expect(session).toEqual({ style, zone });
      await check(gateway, `company ${style}`);
    } finally {
      await gateway.close();
      await opened.close();
      await admin.query(`alter ${whose} reset all`);
    }
  });
});

test.skipIf(url)('the embedded database gives correct times, too', async () => {
  await check(await startGateway({ workers: true }), 'acme');
});

test.runIf(url)(
  'over TLS, with a certificate that is checked, everything works, and nothing goes without',
  async () => {
    const server = await startServer();
    const secure = { ...env, DATABASE_URL: server.url, DATABASE_DIRECT_URL: server.direct };
    const opened = await openDatabase(databaseConfig(secure));
    const gateway = await startGateway({ on: { env: secure, database: opened }, workers: true });
    try {
      await check(gateway, 'secure');
      const sessions = await gateway.execute<{ ssl: boolean }>(`select distinct ssl from pg_stat_ssl s
      join pg_stat_activity a using (pid) where application_name like 'fleet-gateway%'`);
      expect(sessions).toEqual([{ ssl: true }]);
      const stranger = new URL(server.url);
      stranger.searchParams.delete('sslrootcert');
      const refused = openDatabase({ ...databaseConfig(env), DATABASE_URL: stranger.href });
      await expect(refused).rejects.toThrow('certificate');
    } finally {
      await gateway.close();
      await opened.close();
      await server.stop();
    }
  },
);
