// Kills the gateway with -9 in the middle of deliveries.
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import { databaseConfig, databaseEnv } from '../support/database.ts';
import { createFleet } from '../support/factories.ts';
import { spawnGateway, startGateway, testIssuer } from '../support/gateway.ts';
import { scheduleAll } from '../support/schedule.ts';
import { until } from '../support/until.ts';
import { hang, WebhookReceiver } from '../support/webhook-receiver.ts';

const receiver = await WebhookReceiver.start();
const issuer = await testIssuer();
const env = await databaseEnv();

const start = (workers: 'on' | 'off') => spawnGateway({ ...env, WORKERS: workers, WEBHOOK_LOOPBACK: 'on' }, { issuer });

/** Makes the claims of a dead process end. */
async function expireClaims(): Promise<void> {
  const database = await openDatabase(databaseConfig(env));
  await database.orm.em.fork().execute(`update delivery set due_at = now() where claimed; ${scheduleAll}`);
  await database.close();
}

describe('kill -9', () => {
  test('between an event’s commit and its publication loses nothing', async () => {
    const doomed = await start('off');
    const acme = doomed.as('acme');
    await acme.post('/webhooks', { url: receiver.url('/committed') });
    const fleet = await createFleet(acme);
    await doomed.stop('SIGKILL');
    const next = await start('on');
    const [request] = await receiver.some('/committed');
    expect(request?.event).toMatchObject({ type: 'fleet.created', fleetId: fleet.id });
    expect(await next.stop()).toBe(0);
  });

  test('in the middle of a delivery lets the next process repeat it, with the same id and body', async () => {
    receiver.next('/midway', hang);
    const doomed = await start('on');
    const globex = doomed.as('globex');
    await globex.post('/webhooks', { url: receiver.url('/midway') });
    await createFleet(globex);
    await receiver.some('/midway');
    await doomed.stop('SIGKILL');
    await expireClaims();
    const next = await start('on');
    const [first, second] = await receiver.some('/midway', 2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(await next.stop()).toBe(0);
  });
});

describe('Two processes', () => {
  test('deliver each of a hundred events once, and publish them in one order', async () => {
    const settings = { WEBHOOK_LOOPBACK: 'on', CONTRACTS_AUTH: 'required' };
    const one = await startGateway({ settings, workers: true, issuer });
    const two = await startGateway({ settings, workers: true, issuer, on: one });
    const [left, right] = [await one.as('acme'), await two.as('acme')];
    const { body: webhook } = await left.post('/webhooks', { url: receiver.url('/shared') });
    const fleets = await Promise.all(Array.from({ length: 100 }, (_, index) => createFleet(index % 2 ? left : right)));
    const got = await receiver.some('/shared', 100);
    await until(async () => {
      const { body } = await right.get(`/webhooks/${webhook.id}/deliveries?state=SUCCEEDED`);
      return body.length === 100 || null;
    });
    expect(receiver.at('/shared')).toHaveLength(100);
    expect(got.map(({ event }) => event.fleetId).toSorted()).toEqual(fleets.map(({ id }) => id).toSorted());
    expect((await left.get('/events')).body).toEqual((await right.get('/events')).body);
  });
});
