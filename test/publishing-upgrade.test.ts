import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import type { Client } from './support/client.ts';
import { openStream } from './support/event-stream.ts';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';

// The version before gave positions in one order over all companies, by these statements.

const gateway = await startGateway({ workers: true });
const { execute } = gateway;

/** What the migration leaves where something has been published before. */
const asUpgraded = async () => {
  await execute('create sequence event_position');
  await execute('create unique index event_position_key on event (position) where position is not null');
};

/** Publishes as the version before does; `moment` is how long it takes in seconds. */
const publishAsBefore = (moment: number) =>
  gateway.database.orm.em.fork().transactional(async (em) => {
    await em.execute('select pg_advisory_xact_lock(4071927)');
    await em.execute(`with due as materialized (
        select id, nextval('event_position') as position
        from (select id from event where position is null order by seq limit 3) next
      ) update event e set position = due.position from due where e.id = due.id`);
    await em.execute(`select pg_sleep(${moment})`);
  });

/** Follows as the version before does: an empty page takes it to the end of all companies' log. */
async function followAsBefore(company: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let position = '0';
  await until(async () => {
    const rows = await execute<{ end: string; position: string | null; id: string }>(`
      select log."end"::text, page.position::text, page.id
      from (select coalesce(max(position), 0) as "end" from event where position is not null) log left join lateral (
        select position, id from event where position > ${position} and company = '${company}' order by position limit 100
      ) page on true order by page.position`);
    ids.push(...rows.flatMap(({ position, id }) => (position === null ? [] : [id])));
    position = rows[0]?.end ?? position;
    return ids.length >= count;
  }, 30_000);
  return ids;
}

/** Publishes as before while fleets are created for each of these companies. */
async function createBeside(clients: readonly Client[], each: number): Promise<void> {
  let writing = true;
  const before = (async () => {
    while (writing) {
      await publishAsBefore(Math.random() * 0.02);
      await delay(Math.random() * 20);
    }
  })();
  await Promise.all(
    clients.map(async (client) => {
      for (let written = 0; written < each; written++) await createFleet(client);
    }),
  );
  writing = false;
  await before;
}

describe.runIf(inject('database').kind === 'postgresql')('beside the version before', () => {
  test('no follower of either misses an event, and afterwards each company counts for itself', {
    timeout: 90_000,
  }, async () => {
    await asUpgraded();
    const names = ['acme', 'globex', 'initech'];
    const clients = await Promise.all(names.map((name) => gateway.as(name)));
    const streams = await Promise.all(clients.map((client) => openStream(client, '/events/stream')));
    const before = Promise.all(names.map((name) => followAsBefore(name, 40)));
    await createBeside(clients, 40);
    // All of them are published by then.
    const ofBefore = await before;
    const logs = await Promise.all(
      names.map((name) =>
        execute<{ id: string }>(`select id from event where company = '${name}' order by position`).then((rows) =>
          rows.map(({ id }) => id),
        ),
      ),
    );
    for (const [at, followed] of ofBefore.entries()) expect(followed).toEqual(logs[at]);
    for (const [at, stream] of streams.entries()) {
      for (const id of logs[at] ?? []) expect((await stream.next()).id).toBe(id);
      stream.close();
    }

    // A webhook that the version before has paused is held from a position in the order over all.
    const { body: webhook } = await (clients[0] as Client).post('/webhooks', { url: 'https://example.com/held' });
    await execute(`update webhook set state = 'PAUSED', held_from = (select max(position) from event)`);
    const finish = () =>
      promisify(execFile)(process.execPath, ['src/commands/migrate.ts', 'finish'], {
        env: { ...process.env, ...gateway.env },
      });
    expect((await finish()).stdout).toContain('Removed');
    expect((await finish()).stdout).toContain('Nothing');
    const [first] = await execute<{ position: number }>(`select position::int from company where company = 'acme'`);
    for (const client of clients) for (let more = 1; more <= 3; more++) await createFleet(client);
    for (const name of names) {
      const rows = await until(async () => {
        const found = await execute<{ position: number | null }>(
          `select position::int from event where company = '${name}' order by seq desc limit 3`,
        );
        return found.every(({ position }) => position !== null) && found;
      });
      expect(rows).toEqual([3, 2, 1].map((more) => ({ position: (first?.position ?? 0) + more })));
    }
    await (clients[0] as Client).patch(`/webhooks/${webhook.id}`, { state: 'ACTIVE' });
    await until(async () => {
      const [row] = await execute<{ count: number }>('select count(*)::int as count from delivery');
      return row?.count === 3;
    });
  });
});
