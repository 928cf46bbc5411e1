// Kills publishers of events with -9: each event has one position and one delivery.
import { describe, expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import type { Client } from '../support/client.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { createFleet } from '../support/factories.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const KILLED = 6;

describe.runIf(inject('database').kind === 'postgresql')('publishers that are killed', () => {
  test('leave no half-published event, and no gap', { timeout: 180_000 }, async () => {
    const issuer = await testIssuer();
    const env = await databaseEnv();
    const database = await openDatabase(databaseConfig(env));
    const execute = <Row>(statement: string): Promise<Row[]> => database.orm.em.fork().execute(statement);
    const start = (workers: 'on' | 'off') =>
      spawnGateway({ ...env, WORKERS: workers, WEBHOOK_LOOPBACK: 'on' }, { issuer });
    const writer = await start('off');
    const clients = ['acme', 'globex', 'initech'].map((company) => writer.as(company));
    for (const client of clients) await client.post('/webhooks', { url: 'http://127.0.0.1:9/nobody' });
    // Slows each transaction down, so that kills interrupt it.
    await execute(`create function dawdle() returns trigger language plpgsql as $$
      begin perform pg_sleep(0.02); return null; end $$`);
    for (const table of ['event', 'company', 'delivery']) {
      await execute(
        `create trigger dawdle after insert or update on ${table} for each statement execute function dawdle()`,
      );
    }

    /** Logs that are half done: events without deliveries, duplicate positions, or a wrong last position. */
    const halves = () =>
      execute(`select company from (
          select c.company, c.position, count(e.id) as events, max(e.position) as last, count(d.id) as deliveries
          from company c left join event e on e.company = c.company and e.position is not null
            left join delivery d on d.event_id = e.id group by c.company
        ) log where (position, deliveries) is distinct from (events, events) or position <> coalesce(last, 0)`);

    let writing = true;
    const writes = Promise.all(
      clients.map(async (client: Client) => {
        while (writing) await createFleet(client);
      }),
    );
    const published = async () =>
      Number((await execute<{ sum: string }>('select sum(position) from company'))[0]?.sum ?? 0);
    for (let killed = 0; killed < KILLED; killed++) {
      const publishers = await Promise.all([start('on'), start('on')]);
      const before = await published();
      await until(async () => (await published()) > before);
      for (const publisher of publishers) await publisher.stop('SIGKILL');
      expect(await halves()).toEqual([]);
    }
    writing = false;
    await writes;
    const last = await start('on');
    await until(async () => (await execute('select from event where position is null limit 1')).length === 0);
    expect(await halves()).toEqual([]);
    expect(await last.stop()).toBe(0);
    expect(await writer.stop()).toBe(0);
    await database.close();
  });
});
