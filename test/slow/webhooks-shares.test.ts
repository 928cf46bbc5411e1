import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/entities/database.ts';
import type { Client, Json } from '../support/client.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { createFleet } from '../support/factories.ts';
import { type SpawnedGateway, spawnGateway, testIssuer } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { hang, status, WebhookReceiver } from '../support/webhook-receiver.ts';

const receiver = await WebhookReceiver.start();
const issuer = await testIssuer();
const env = await databaseEnv();
const start = () => spawnGateway({ ...env, WEBHOOK_LOOPBACK: 'on' }, { issuer });

/** Rows of a statement. The embedded database is one process's: no gateway may be running on it. */
async function execute(statement: string): Promise<Json[]> {
  const database = await openDatabase(databaseConfig(env));
  return database.orm.em
    .fork()
    .execute(statement)
    .finally(() => database.close());
}

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

describe('A webhook for which 200,000 events wait', { timeout: 300_000 }, () => {
  const EVENTS = 200_000;
  const made = async (webhook: Json) =>
    (
      await execute(`select count(*)::int as made, count(distinct event_id)::int as events
      from delivery where webhook_id = '${webhook.id}'`)
    )[0];
  const openEnd = (webhook: Json) => execute(`select from webhook where id = '${webhook.id}' and due_at is not null`);

  /** A paused webhook of a company of its own, to a receiver that never answers, and its events. */
  async function waiting(company: string): Promise<[SpawnedGateway, Client, Json]> {
    const gateway = await start();
    const client = gateway.as(company);
    const webhook = await subscribe(client);
    receiver.always(webhook.path, hang);
    await become(client, webhook, 'PAUSED');
    await gateway.stop();
    await execute(`insert into event (company, type, actor, at, position)
      select '${company}', 'fleet.updated', 'test', now(), nextval('event_position') from generate_series(1, ${EVENTS})`);
    const next = await start();
    return [next, next.as(company), webhook];
  }

  test('is resumed while others are told of theirs as if nothing were', async () => {
    const [gateway, client, webhook] = await waiting('resumed');
    const other = gateway.as('beside');
    const single = await subscribe(other);
    await arrivals(other, single, 10);
    const alone = await arrivals(other, single, 20);
    await become(client, webhook, 'ACTIVE');
    const beside = await arrivals(other, single, 20);
    console.log(`alone ${median(alone).toFixed()} ms (at most ${alone.at(-1)?.toFixed()}),`);
    console.log(`beside ${median(beside).toFixed()} ms (at most ${beside.at(-1)?.toFixed()})`);
    expect(median(beside)).toBeLessThan(3 * median(alone));
    // What comes now comes through the log as well, behind the rest.
    await createFleet(client);
    await gateway.stop();
    const again = await start();
    await delay(100);
    await again.stop();
    while ((await openEnd(webhook)).length > 0) {
      const more = await start();
      await delay(3000);
      await more.stop();
    }
    expect(await made(webhook)).toEqual({ made: EVENTS + 1, events: EVENTS + 1 });
  });

  test('loses none and gets none twice, whoever kills the process or pauses it meanwhile', async () => {
    let [gateway, client, webhook] = await waiting('killed');
    await become(client, webhook, 'ACTIVE');
    for (const ms of [200, 600, 1000]) {
      await delay(ms);
      await gateway.stop('SIGKILL');
      gateway = await start();
      client = gateway.as('killed');
    }
    await become(client, webhook, 'PAUSED');
    await createFleet(client);
    await gateway.stop();
    const { made: half } = await made(webhook);
    expect(half).toBeGreaterThan(0);
    gateway = await start();
    client = gateway.as('killed');
    await become(client, webhook, 'ACTIVE');
    await createFleet(client);
    do {
      await delay(3000);
      await gateway.stop();
      if ((await openEnd(webhook)).length === 0) break;
      gateway = await start();
    } while (true);
    expect(await made(webhook)).toEqual({ made: EVENTS + 2, events: EVENTS + 2 });
  });

  test('is deleted while it is resumed, and holds up nobody', async () => {
    const [gateway, client, webhook] = await waiting('deleted');
    const other = gateway.as('beside-deleted');
    const single = await subscribe(other);
    await arrivals(other, single, 10);
    const alone = median(await arrivals(other, single, 15));
    await become(client, webhook, 'ACTIVE');
    await delay(1500);
    const deleted = client.delete(`/webhooks/${webhook.id}`);
    const beside = median(await arrivals(other, single, 15));
    expect((await deleted).status).toBe(200);
    expect(beside).toBeLessThan(3 * alone);
    await gateway.stop();
    expect(await made(webhook)).toEqual({ made: 0, events: 0 });
  });
});
