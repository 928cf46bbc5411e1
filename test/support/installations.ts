import { spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { afterAll, expect } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { entities } from '../../src/entities/index.ts';
import { Client } from './client.ts';
import { databaseConfig } from './database.ts';
import { addVehicles, contractFields, createFleet, newVins, uploadForm } from './factories.ts';
import { bearer, identityOf, spawnGateway, startGateway, testIssuer } from './gateway.ts';
import { startHaproxy } from './haproxy.ts';
import { startServer } from './postgres-server.ts';
import { until } from './until.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

export type InstallationName = 'a' | 'b';

/** Two servers until the end of the test file, and what tests of moves do with them. */
export async function twoInstallations() {
  const issuer = await testIssuer();
  const receiver = await WebhookReceiver.start();
  const servers = { a: await startServer({ wal_level: 'logical' }), b: await startServer({ wal_level: 'logical' }) };
  const pools = {
    a: new pg.Pool({ connectionString: servers.a.admin }),
    b: new pg.Pool({ connectionString: servers.b.admin }),
  };
  for (const pool of Object.values(pools)) pool.on('error', () => {});
  afterAll(async () => {
    await Promise.all([pools.a.end(), pools.b.end()]);
    await Promise.all([servers.a.stop(), servers.b.stop()]);
  });
  const tables = entities.flatMap(({ meta: { tableName, properties } }) =>
    'company' in properties ? [tableName] : [],
  );
  /** What moves as it is: the others are of the place, and tallies are summed up at any time. */
  const moved = tables.filter((name) => !['placement', 'schedule', 'import_batch', 'vehicle_tally'].includes(name));
  const tallyOf = ({ vehicle_tally = [] }: Record<string, unknown[]>) => {
    const sums: Record<string, number> = {};
    for (const { fleet_id, status, delta } of vehicle_tally as { fleet_id: string; status: string; delta: number }[])
      sums[`${fleet_id} ${status}`] = (sums[`${fleet_id} ${status}`] ?? 0) + delta;
    return Object.entries(sums)
      .filter(([, sum]) => sum !== 0)
      .toSorted();
  };

  const settingsOf = (name: InstallationName) => ({
    ...identityOf(issuer),
    DATABASE_URL: servers[name].url,
    DATABASE_DIRECT_URL: servers[name].direct,
    INSTALLATION: name,
    INSTALLATIONS: 'a=https://a.example.com,b=https://b.example.com',
    WEBHOOK_LOOPBACK: 'on',
    CONTRACTS_ACTIVATION: 'on',
  });
  const start = (name: InstallationName) => spawnGateway(settingsOf(name), { issuer });
  /** The gateway of an installation in this process, until the test file ends. */
  async function startHere(name: InstallationName) {
    const settings = settingsOf(name);
    const { DATABASE_URL, DATABASE_DIRECT_URL } = settings;
    const database = await openDatabase(databaseConfig({ DATA_DIR: '', DATABASE_URL, DATABASE_DIRECT_URL }));
    await database.migrate();
    afterAll(() => database.close());
    const on = { env: { DATA_DIR: servers[name].folder }, database };
    return (await startGateway({ issuer, settings: { ...settings, SANDBOX: 'on' }, on, workers: true })).url;
  }

  /** Both installations, with two processes of the first; call it in the test that they end with. */
  async function open() {
    const [first, second, other] = [await start('a'), await start('a'), await start('b')];
    return { first, second, other, ...(await inFront({ a: first.url, b: other.url })) };
  }

  /** HAProxy in front of gateways, its clients, and the command. */
  async function inFront(gateways: Record<InstallationName, string>) {
    const proxy = await startHaproxy(gateways);
    const as = (company: string, url = proxy.url) => new Client(url, bearer(issuer.sign({ company })));
    const run = (urls: Record<InstallationName, string>, ...args: string[]) => {
      const DATABASE_ADMIN_URLS = `a=${urls.a},b=${urls.b}`;
      const child = spawn(process.execPath, ['src/commands/companies.ts', ...args], {
        env: { PATH: process.env.PATH, DATABASE_ADMIN_URLS },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
      const ended = once(child, 'close').then(([code]) => ({ code, output }));
      return { ended, kill: () => child.kill('SIGKILL'), says: (text: string) => until(() => output.includes(text)) };
    };
    const urls = { a: servers.a.admin, b: servers.b.admin };
    const onProxy = ['--map', proxy.map, '--socket', proxy.socket];
    const companies = (...args: string[]) => run(urls, ...onProxy, ...args);
    return { proxy, as, companies, run, urls };
  }

  /** All rows of a company, by table. */
  async function rowsOf(name: InstallationName, company: string): Promise<Record<string, unknown[]>> {
    const rows = await Promise.all(
      tables.map(async (table) => {
        const text = `select to_jsonb(t) as row from ${table} t where company = $1 order by to_jsonb(t)::text`;
        return [table, (await pools[name].query(text, [company])).rows.map(({ row }) => row)] as const;
      }),
    );
    return Object.fromEntries(rows);
  }
  /** Upkeep writes the sums of a fleet at any time. */
  const withoutSums = (row: unknown) => ({ ...(row as object), vehicle_count: 0, attention_count: 0 });
  const pick = (rows: Record<string, unknown[]>, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, rows[name]?.map(withoutSums)]));
  const settled = async (name: InstallationName, company: string) => {
    const { rows } = await pools[name].query(
      `select (select count(*) from vehicle where company = $1 and status = 'PENDING')
      + (select count(*) from event where company = $1 and position is null)
      + (select count(*) from delivery where company = $1 and state = 'PENDING')
      + (select count(*) from activation where company = $1 and state = 'PENDING') as left`,
      [company],
    );
    return Number(rows[0].left) === 0;
  };

  /** A fleet with vehicles, contracts, an upload and a webhook. */
  async function fill(client: Client, company: string) {
    await client.post('/webhooks', { url: receiver.url(`/${company}`) });
    const fleet = await createFleet(client);
    const vehicles = await addVehicles(client, newVins(60), fleet);
    for (const vehicle of vehicles.slice(0, 5))
      await client.post('/contracts', contractFields(vehicle, { from: new Date().toISOString() }));
    const csv = `vin\n${newVins(40).join('\n')}\nWBA1\n`;
    expect(await client.post('/vehicles/file', uploadForm(fleet.id, csv))).toMatchObject({ status: 201 });
    return fleet;
  }

  return { issuer, receiver, servers, pools, open, startHere, inFront, fill, rowsOf, settled, moved, pick, tallyOf };
}
