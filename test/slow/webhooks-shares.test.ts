// Slow and silent receivers of webhooks, and 200,000 pending events. Takes over four minutes.
import { afterAll, describe, expect, inject, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import type { Client, Json } from '../support/client.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { createFleet } from '../support/factories.ts';
import { spawnGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { hang, status, WebhookReceiver } from '../support/webhook-receiver.ts';

const { kind } = inject('database');
const receiver = await WebhookReceiver.start();
const issuer = await testIssuer();
const env = await databaseEnv();
const start = () => spawnGateway({ ...env, WEBHOOK_LOOPBACK: 'on' }, { issuer });

let paths = 0;
async function subscribe(client: Client, fields: Json = {}, path = `/hook-${++paths}`): Promise<Json> {
  return { path, ...(await client.post('/webhooks', { url: receiver.url(path), ...fields })).body };
}
const become = (client: Client, { id }: Json, state: string) => client.patch(`/webhooks/${id}`, { state });

/** Milliseconds from each of `count` events, one after another, to its arrival; sorted. */
async function arrivals(client: Client, { path }: Json, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const arrived = Promise.withResolvers<void>();
    receiver.always(path, (response) => {
      status(204)(response);
      arrived.resolve();
    });
    const begin = performance.now();
    await createFleet(client);
    await arrived.promise;
    times.push(performance.now() - begin);
  }
  return times.toSorted((a, b) => a - b);
}
const median = (times: number[]) => times[Math.floor(times.length / 2)] ?? 0;

/** Makes `webhooks` × `events` deliveries due at once, all to one path. */
async function flood(client: Client, { webhooks, events }: { webhooks: number; events: number }): Promise<string> {
  const path = `/flood-${++paths}`;
  const all = [];
  for (let index = 0; index < webhooks; index++) all.push(await subscribe(client, { types: ['fleet.created'] }, path));
  for (const webhook of all) await become(client, webhook, 'PAUSED');
  for (let index = 0; index < events; index++) await createFleet(client);
  await until(async () => ((await client.get('/events?limit=1000')).body.length >= events ? true : null));
  await Promise.all(all.map((webhook) => become(client, webhook, 'ACTIVE')));
  return path;
}

describe('A single delivery takes less than three times what it takes alone', { timeout: 300_000 }, () => {
  const floods: Record<string, [size: { webhooks: number; events: number }, seconds: number | null]> = {
    'beside 1,000 of another company to a receiver that answers at once': [{ webhooks: 10, events: 100 }, 0],
    'beside 1,000 of another company to a receiver that takes half a second': [{ webhooks: 20, events: 50 }, 0.5],
    'beside 600 of another company to 20 receivers that never answer': [{ webhooks: 20, events: 30 }, null],
  };
  test.each(Object.entries(floods))('%s', async (_, [size, seconds]) => {
    const gateway = await start();
    const client = gateway.as(`single-${++paths}`);
    const single = await subscribe(client);
    await arrivals(client, single, 10);
    const alone = median(await arrivals(client, single, 15));
    receiver.always(`/flood-${paths + 1}`, (response) =>
      seconds === null ? hang(response) : void setTimeout(() => status(204)(response), seconds * 1000),
    );
    const path = await flood(gateway.as(`flood-${paths}`), size);
    await receiver.some(path, 20);
    const beside = median(await arrivals(client, single, 15));
    const still = size.webhooks * size.events - receiver.at(path).length;
    console.log(`alone ${alone.toFixed()} ms, beside ${beside.toFixed()} ms, ${still} of the others not begun`);
    expect(beside).toBeLessThan(3 * alone);
    await gateway.stop('SIGKILL');
  });
});

// The embedded database has one process, so the test cannot read it; test/webhooks.test.ts tests resuming there, too.
describe.runIf(kind === 'postgresql')('A webhook for which 200,000 events wait', { timeout: 300_000 }, async () => {
  const EVENTS = 200_000;
  const database = kind === 'postgresql' ? await openDatabase(databaseConfig(env)) : null;
  afterAll(() => database?.close());
  const execute = async (statement: string): Promise<Json[]> =>
    (await database?.orm.em.fork().execute(statement)) ?? [];
  const made = async ({ id }: Json) =>
    (
      await execute(`select count(*)::int as made, count(distinct event_id)::int as events
        from delivery where webhook_id = '${id}'`)
    )[0];
  const caughtUp = ({ id }: Json) =>
    until(async () => {
      const rows = await execute(`select from webhook where id = '${id}' and due_at is not null`);
      return rows.length === 0 ? true : null;
    });

  /** A paused webhook of a receiver that never answers, with EVENTS pending events. */
  async function waiting(client: Client, company: string): Promise<Json> {
    const webhook = await subscribe(client);
    receiver.always(webhook.path, hang);
    await become(client, webhook, 'PAUSED');
    await execute(`with log as (
        update company set position = position + ${EVENTS} where company = '${company}' returning position - ${EVENTS} as "end"
      ) insert into event (company, type, actor, at, position)
      select '${company}', 'fleet.updated', 'test', now(), log."end" + n from log, generate_series(1, ${EVENTS}) n`);
    return webhook;
  }

  test.each(['resumed', 'resumed and deleted'])('is %s without delaying other webhooks', async (what) => {
    const gateway = await start();
    const client = gateway.as(what);
    const webhook = await waiting(client, what);
    const other = gateway.as(`beside ${what}`);
    const single = await subscribe(other);
    await arrivals(other, single, 10);
    const alone = await arrivals(other, single, 15);
    await become(client, webhook, 'ACTIVE');
    await createFleet(client);
    if (what === 'resumed and deleted') {
      await until(async () => ((await made(webhook))?.made > EVENTS / 2 ? true : null));
      void client.delete(`/webhooks/${webhook.id}`);
    }
    const beside = await arrivals(other, single, 15);
    console.log(`alone ${median(alone).toFixed()} ms, at most ${alone.at(-1)?.toFixed()}`);
    console.log(`beside ${median(beside).toFixed()} ms, at most ${beside.at(-1)?.toFixed()}`);
    expect(median(beside)).toBeLessThan(3 * median(alone));
    await caughtUp(webhook);
    const count = what === 'resumed' ? EVENTS + 1 : 0;
    await until(async () => ((await made(webhook))?.made === count ? true : null));
    expect(await made(webhook)).toEqual({ made: count, events: count });
    await gateway.stop('SIGKILL');
  });

  test('loses no event and gets none twice if the process is killed or the webhook paused', async () => {
    let gateway = await start();
    const webhook = await waiting(gateway.as('killed'), 'killed');
    await become(gateway.as('killed'), webhook, 'ACTIVE');
    for (const part of [0.1, 0.3, 0.5]) {
      await until(async () => ((await made(webhook))?.made > part * EVENTS ? true : null));
      await gateway.stop('SIGKILL');
      gateway = await start();
    }
    const client = gateway.as('killed');
    await become(client, webhook, 'PAUSED');
    const { made: half } = (await made(webhook)) ?? {};
    await createFleet(client);
    await until(async () => ((await client.get('/events?type=fleet.created')).body.length === 1 ? true : null));
    expect(await made(webhook)).toEqual({ made: half, events: half });
    expect(half).toBeLessThan(EVENTS);
    await become(client, webhook, 'ACTIVE');
    await createFleet(client);
    await caughtUp(webhook);
    await until(async () => ((await made(webhook))?.made === EVENTS + 2 ? true : null));
    expect(await made(webhook)).toEqual({ made: EVENTS + 2, events: EVENTS + 2 });
    await gateway.stop('SIGKILL');
  });
});
