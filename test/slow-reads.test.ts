import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import { openDatabase } from '../src/database/open-database.ts';
import type { Client } from './support/client.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { createContract } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { until } from './support/until.ts';

const SECONDS = 2;
const gateway = await startGateway({ settings: { LIMIT_STATEMENT_SECONDS: String(SECONDS) } });
const { config } = gateway.services;
const [loud, quiet] = [await gateway.as('loud'), await gateway.as('quiet')];
const isServer = process.env.DATABASE_URL !== undefined || gateway.database.kind === 'postgresql';
const contracts = (company: string) => `/contracts?conditions=${encodeURIComponent(JSON.stringify({ company }))}`;
const CONTRACTS = contracts('loud');
const query = '{ contracts { nodes { id name } } }';
const graphql = (client: Client) => client.post('/graphql', { query });

const underWay = async (): Promise<number> => {
  const [row] = await gateway.execute<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where state = 'active' and wait_event = 'PgSleep'`,
  );
  return row?.count ?? 0;
};

// PGlite cannot cancel a statement.
describe.skipIf(!isServer)('A read that takes long', () => {
  beforeAll(async () => {
    for (const client of [loud, quiet]) await createContract(client);
    await gateway.execute('alter table contract rename to contract_kept');
    await gateway.execute(`create view contract as select c.* from contract_kept c, lateral (
      select pg_sleep(case c.company when 'loud' then 60 else 0 end) offset 0) slow`);
  });

  test('ends with advice on filters, in both interfaces', async () => {
    const { status, body } = await loud.get(CONTRACTS);
    expect({ status, ...body }).toMatchObject({ status: 400, code: 'COST_EXCEEDED' });
    expect(body.detail).toMatch(/longer than 2 s: ask for fewer rows/);
    expect((await graphql(loud)).body.errors).toMatchObject([{ extensions: { code: 'COST_EXCEEDED' } }]);
  });

  test('ends when its client leaves or completes it', async () => {
    config.LIMIT_STATEMENT_SECONDS = 120;
    try {
      const left = new AbortController();
      const { headers } = loud;
      const { signal } = left;
      const body = JSON.stringify({ query });
      const asked = [
        fetch(gateway.url + CONTRACTS, { headers, signal }),
        fetch(`${gateway.url}/graphql`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body,
          signal,
        }),
      ];
      for (const one of asked) one.catch(() => {});
      const client = createClient({
        url: `${gateway.url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: headers,
        // Its socket stays open.
        lazy: false,
      });
      const complete = client.subscribe({ query }, { next() {}, error() {}, complete() {} });
      onTestFinished(() => void client.dispose());
      await until(async () => (await underWay()) === asked.length + 1);
      complete();
      await until(async () => (await underWay()) === asked.length);
      left.abort();
      await until(async () => (await underWay()) === 0);
    } finally {
      config.LIMIT_STATEMENT_SECONDS = SECONDS;
    }
  });

  test('of one company takes no place of other companies or the probes', async () => {
    // As if no other had come within the last minute: searches in turn would not fill the places.
    const alone = vi.spyOn(gateway.services.fairness.turns, 'isAlone').mockReturnValue(true);
    onTestFinished(() => alone.mockRestore());
    const asked = Array.from({ length: 30 }, () => loud.get(CONTRACTS));
    await until(async () => (await underWay()) > 3);
    const others = await Promise.all([quiet.get(contracts('quiet')), quiet.get('/fleets'), loud.get('/readyz')]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ body }) => body.code))).toEqual(new Set(['COST_EXCEEDED', 'RATE_LIMITED']));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(refused.map(() => String(SECONDS)));
  });
});

describe.skipIf(!isServer)('A slow read', async () => {
  const env = await databaseEnv();
  const url = env.DATABASE_URL ?? '';
  const proxy = url ? await TcpProxy.start(url) : null;
  const database = await openDatabase(databaseConfig({ ...env, ...(proxy && { DATABASE_URL: proxy.through(url) }) }));
  afterAll(async () => {
    await database.close();
    await proxy?.close();
  });

  const read = (text: string, value: number) =>
    database.slowRead(text, [value], { newest: true, asTexts: true, seconds: 1, signal: undefined });

  /** What each packet holds of these words, while `work` is done on an open connection. */
  async function packetsOf(work: () => Promise<unknown>): Promise<string[]> {
    await database.send('select $1::int', [1]);
    const packets: string[] = [];
    if (proxy) {
      proxy.swallowAnswersAfter = (sent) => {
        const words = sent.toString('latin1').match(/begin|\$1::int|\bfleet\b|rollback|commit/g);
        if (words) packets.push(words.join(' '));
        return false;
      };
    }
    await work();
    return packets;
  }

  test('is one packet with its begin and commit', async () => {
    expect(await packetsOf(async () => expect(await read('select $1::int', 7)).toEqual([['7']]))).toEqual([
      'begin $1::int commit',
    ]);
  });

  test('is alone in this: a transaction waits for its begin', async () => {
    const work = () =>
      database.orm.em.fork().transactional(async (em) => {
        await em.execute('select from fleet');
      });
    expect(await packetsOf(work)).toEqual(['begin', 'fleet', 'commit']);
  });

  test('that fails leaves no transaction open', async () => {
    await expect(read('select 1 / $1::int', 0)).rejects.toMatchObject({ code: '22012' });
    await expect(read('select pg_sleep($1::int)', 5)).rejects.toMatchObject({ code: '57014' });
    const open = await database.send(
      `select state from pg_stat_activity where datname = current_database() and state like 'idle in%' and $1`,
      [true],
    );
    expect(open).toEqual([]);
  });
});
