import { expect, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { findWebhooksToResume } from '../src/core/webhooks/resume-webhooks.ts';
import { subscribableEventTypes } from '../src/core/webhooks/webhook.ts';
import type { Json } from './support/client.ts';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { publishEvents } from './support/publish.ts';
import { until } from './support/until.ts';
import { WebhookReceiver } from './support/webhook-receiver.ts';
import { newWorld } from './support/worlds.ts';

const receiver = await WebhookReceiver.start();
const gateway = await startGateway({ settings: { WEBHOOK_LOOPBACK: 'on' }, workers: true });

test('a webhook gets the same events whether it was active or paused when they happened', async () => {
  const client = await gateway.as('acme');
  const choices = [[], ['fleet.created'], ['contract.deleted', 'vehicle.added'], subscribableEventTypes];
  const webhooks: { id: string; types: string[] }[] = [];
  for (const types of choices) {
    for (const state of ['ACTIVE', 'PAUSED']) {
      const { body } = await client.post('/webhooks', { url: receiver.url(`/${webhooks.length}`), types });
      if (state === 'PAUSED') await client.patch(`/webhooks/${body.id}`, { state });
      webhooks.push({ id: body.id, types });
    }
  }
  const { fleetId, contractId } = await newWorld(gateway, 'acme');
  await client.patch(`/fleets/${fleetId}`, { name: 'Renamed' });
  await client.delete(`/contracts/${contractId}`);
  await client.delete(`/fleets/${fleetId}`);
  const log = await until(async () => {
    const { body } = await client.get('/events');
    return body.some(({ type }: Json) => type === 'fleet.deleted') && body;
  });
  expect(new Set(log.map(({ type }: Json) => type)).size).toBeGreaterThan(7);
  for (const { id } of webhooks) await client.patch(`/webhooks/${id}`, { state: 'ACTIVE' });
  const inLog = new Set(log.map(({ id }: Json) => id));
  for (const { id, types } of webhooks) {
    const due = log.filter(({ type }: Json) => type !== 'webhook.test' && (types.length === 0 || types.includes(type)));
    const sorted = (ids: string[]) =>
      ids
        .filter((one) => inLog.has(one))
        .sort()
        .join();
    await until(async () => {
      const { body } = await client.get(`/webhooks/${id}/deliveries`);
      return sorted(body.map(({ eventId }: Json) => eventId)) === sorted(due.map((event: Json) => event.id));
    });
  }
});

test('sending a delivery at once puts it behind none that it was before', async () => {
  const idle = await startGateway({ settings: { WEBHOOK_LOOPBACK: 'on' } });
  const client = await idle.as('acme');
  const { body: webhook } = await client.post('/webhooks', { url: receiver.url('/none') });
  await createFleet(client);
  await publishEvents(contextOf(idle.services, 'test', null));
  await idle.execute(`update delivery set due_at = now() - interval '1 hour'`);
  const path = `/webhooks/${webhook.id}/deliveries`;
  const { body: deliveries } = await client.get(path);
  expect(await client.post(`${path}/${deliveries[0].id}/redeliver`)).toMatchObject({ status: 202 });
  const [row] = await idle.execute<{ late: boolean }>(
    `select due_at < now() - interval '59 minutes' as late from delivery`,
  );
  expect(row).toEqual({ late: true });
});

test('webhooks are resumed one of each company at a time', async () => {
  const idle = await startGateway({ settings: { WEBHOOK_LOOPBACK: 'on' } });
  for (const company of ['many', 'many', 'many', 'one'])
    await (await idle.as(company)).post('/webhooks', { url: receiver.url('/none') });
  await idle.execute(`update webhook set due_at = now() - interval '1 hour' where company = 'many'`);
  await idle.execute(`update webhook set due_at = now() - interval '1 minute' where company = 'one'`);
  const found = await findWebhooksToResume(contextOf(idle.services, 'test', null));
  expect(found.map(({ company }) => company)).toEqual(['many', 'one']);
});
