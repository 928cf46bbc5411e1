import { afterAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from './support/database.ts';
import { TcpProxy } from './support/tcp-proxy.ts';

const env = await databaseEnv();

describe.skipIf(!env.DATABASE_URL)('A slow read', async () => {
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
