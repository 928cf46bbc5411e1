import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ChangeFeed } from '../src/core/changes.ts';
import { ListeningConnection } from '../src/database/listening-connection.ts';
import { openDatabase } from '../src/database/open-database.ts';
import { PostgresConnection } from '../src/database/postgres-connection.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { TcpProxy } from './support/tcp-proxy.ts';
import { until } from './support/until.ts';

const env = await databaseEnv();
const { DATABASE_URL: url } = env;
/** Interval of checks for ended processes in these tests. */
const LOOK_MS = 200;

/** Listens on a channel in a new process's place, optionally through a proxy that can be cut. */
async function listener(
  channel: string,
  {
    through,
    lookMs = LOOK_MS,
    address = url,
  }: { through?: TcpProxy; lookMs?: number; address?: string | undefined } = {},
) {
  const connectionString = through ? through.through(address ?? '') : address;
  const connection = new ListeningConnection({ connectionString }, PostgresConnection, { lookMs });
  await connection.connect();
  onTestFinished(() => connection.close());
  const heard: string[] = [];
  await connection.listen(channel, (payload) => heard.push(payload));
  return { connection, heard };
}

async function networkTo(): Promise<TcpProxy> {
  const network = await TcpProxy.start(url ?? '');
  onTestFinished(() => network.close());
  return network;
}

/** A function that counts chunks with this text sent to the server. */
function counted(network: TcpProxy, text: string): () => number {
  let count = 0;
  network.swallowAnswersAfter = (sent) => {
    if (sent.includes(text)) count += 1;
    return false;
  };
  return () => count;
}

describe.runIf(url)('between processes', () => {
  test('each notification is heard once, in its own process and in others', async () => {
    const [one, two] = [await listener('news'), await listener('news')];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ minLength: 1, unit: 'binary-ascii' }), { maxLength: 60 }),
        async (payloads) => {
          // PostgreSQL's text has no character 0.
          const sent = [...payloads.map((payload) => payload.replaceAll('\0', 'x')), 'the end'];
          for (const payload of sent) one.connection.notify('news', payload);
          await until(() => two.heard.includes('the end'));
          // The own process receives every notification at once; others receive duplicates of a burst once.
          expect(one.heard.splice(0)).toEqual(sent);
          expect(two.heard.splice(0).toSorted()).toEqual([...new Set(sent)].toSorted());
        },
      ),
      { numRuns: 20 },
    );
  });

  test('oversized payloads or bursts arrive as a gap, and later notifications normally', async () => {
    const [one, two] = [await listener('news'), await listener('news')];
    const long = 'é'.repeat(4_000);
    one.connection.notify('news', long);
    await until(() => two.heard.length === 1);
    for (let at = 0; at < 10_000; at++) one.connection.notify('news', `news ${at}`);
    one.connection.notify('other', 'is not concerned');
    await until(() => two.heard.length === 2);
    one.connection.notify('news', 'the end');
    await until(() => two.heard.includes('the end'));
    expect(one.heard).toHaveLength(10_002);
    expect(one.heard[0]).toBe(long);
    expect(two.heard).toEqual(['', '', 'the end']);
  });

  test('a burst is one statement, and at most twenty are sent per second', async () => {
    const network = await networkTo();
    const bursts = counted(network, 'pg_notify');
    const [one, two] = [await listener('news', { through: network }), await listener('news')];
    const started = performance.now();
    for (let at = 0; bursts() <= 10; at++) {
      one.connection.notify('news', `news ${at % 7}`);
      if (at % 10 === 0) await new Promise(setImmediate);
    }
    one.connection.notify('news', 'the end');
    await until(() => two.heard.includes('the end'));
    expect(bursts()).toBeLessThanOrEqual(((performance.now() - started) / 1000) * 20 + 2);
  });

  test('notifications during a lost connection are sent by the next one', async () => {
    const network = await networkTo();
    const one = await listener('news', { through: network });
    const two = await listener('news', { lookMs: 600_000 });
    network.cut();
    for (const payload of ['first', 'second']) one.connection.notify('news', payload);
    await until(() => one.heard.includes(''));
    await until(() => two.heard.includes('second'));
    expect(new Set(two.heard)).toEqual(new Set(['first', 'second']));
  });

  // The second does not see when sessions of others began.
  test.each([
    ['its own', url],
    ['another', env.DATABASE_DIRECT_URL],
  ])(
    'a process that ends in order leaves no gap, one that is cut off leaves one, with the rights of %s role',
    async (_, address) => {
      const [network, doomed] = [await networkTo(), await networkTo()];
      const looks = counted(network, 'pg_stat_activity');
      const one = await listener('news', { address });
      await listener('news', { address });
      await listener('news', { through: doomed, address });
      const { heard } = await listener('news', { through: network, address });
      const all = Array.from({ length: 50 }, (_, at) => `news ${at}`);
      for (const payload of all) one.connection.notify('news', payload);
      await one.connection.close();
      const before = looks();
      await until(() => looks() > before + 2);
      expect(heard).toEqual(all);
      doomed.refuse = true;
      doomed.cut();
      await until(() => heard.length > all.length);
      expect(heard).toEqual([...all, '']);
    },
  );
});

describe('of the service’s database', () => {
  test('notifications of a lost transaction are not sent', async () => {
    const database = await openDatabase(databaseConfig(env));
    onTestFinished(() => database.close());
    const heard: string[] = [];
    await database.listen('news', (payload) => heard.push(payload));
    // A rolled-back savepoint may wake a listener in vain; a rolled-back transaction must not.
    for (const commits of [false, true, false]) {
      const work = database.orm.em.fork().transactional(async (em) => {
        await em.execute('select 1');
        database.notify('news', commits ? 'kept' : 'lost');
        if (!commits) throw new Error('no');
      });
      await work.catch(() => {});
    }
    expect(heard).toEqual(['kept']);
  });

  test('a notification that nobody can read does no harm', async () => {
    const database = await openDatabase(databaseConfig(env));
    onTestFinished(() => database.close());
    const changes = await ChangeFeed.open(database);
    let missed = 0;
    const heard: unknown[] = [];
    changes.on('missed', () => {
      missed += 1;
    });
    changes.on('eligibility', (news) => heard.push(news));
    const news = { company: 'acme', vehicles: null };
    for (const payload of ['x', '{}', 'null', JSON.stringify({ ...news, vehicles: 1 })]) {
      for (const channel of ['due', 'provider', 'eligibility']) database.notify(channel, payload);
    }
    database.notify('eligibility', JSON.stringify(news));
    await until(() => heard.length > 0);
    expect({ heard, missed, reports: changes.providerReports.size }).toEqual({ heard: [news], missed: 4, reports: 0 });
  });
});
