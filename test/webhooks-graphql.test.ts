import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import type { Client } from './support/client.ts';
import { createFleet } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { WebhookReceiver } from './support/webhook-receiver.ts';

const receiver = await WebhookReceiver.start();
const gateway = await startGateway({ settings: { WEBHOOK_LOOPBACK: 'on' }, workers: true });
const acme = await gateway.as('acme');
const globex = await gateway.as('globex');

const ask = async (client: Client, query: string, variables: Record<string, unknown> = {}) =>
  (await client.post('/graphql', { query, variables })).body;

const mutations = {
  create: `mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret webhook { id url types state } } }`,
  update: `mutation ($input: UpdateWebhookInput!) { updateWebhook(input: $input) { webhook { state types } } }`,
  delete: `mutation ($input: DeleteWebhookInput!) { deleteWebhook(input: $input) { webhook { id } } }`,
  rotate: `mutation ($input: RotateWebhookSecretInput!) { rotateWebhookSecret(input: $input) { secret webhook { oldSecretUntil } } }`,
  test: `mutation ($input: TestWebhookInput!) { testWebhook(input: $input) { delivery { id type state } } }`,
  redeliver: `mutation ($input: RedeliverInput!) { redeliver(input: $input) { delivery { id eventId state } } }`,
  redeliverWebhookDelivery: `mutation ($input: RedeliverWebhookDeliveryInput!) {
    redeliverWebhookDelivery(input: $input) { delivery { id eventId state } } }`,
};

const LIST = `query ($id: ID!) {
  webhooks { totalCount nodes { id } }
  webhook(id: $id) {
    state reason deliveries(state: SUCCEEDED) { totalCount nodes { id eventId attempts status error request { url body headers } } }
  }
}`;

test('GraphQL manages a webhook as REST does', async () => {
  const input = { url: receiver.url('/graphql'), types: ['FLEET_CREATED'] };
  const { createWebhook } = (await ask(acme, mutations.create, { input })).data;
  const { id } = createWebhook.webhook;
  expect(createWebhook.webhook).toMatchObject({ ...input, state: 'ACTIVE' });
  await createFleet(acme);
  const [request] = await receiver.some('/graphql');
  new Webhook(createWebhook.secret).verify(request?.body ?? '', request?.headers as Record<string, string>);
  const list = await until(async () => {
    const { data } = await ask(acme, LIST, { id });
    return data.webhook.deliveries.totalCount === 1 ? data : null;
  });
  expect(list.webhooks).toEqual({ totalCount: 1, nodes: [{ id }] });
  const [delivery] = list.webhook.deliveries.nodes;
  expect(delivery).toMatchObject({ attempts: 1, status: 204, error: null, request: { body: request?.body } });
  const names = { input: { webhookId: id, deliveryId: delivery.id } };
  for (const [at, name] of (['redeliver', 'redeliverWebhookDelivery'] as const).entries()) {
    expect((await ask(acme, mutations[name], names)).data[name].delivery.eventId).toBe(delivery.eventId);
    await receiver.some('/graphql', 2 + at);
  }
  const changed = await ask(acme, mutations.update, { input: { id, state: 'PAUSED', types: [] } });
  expect(changed.data.updateWebhook.webhook).toEqual({ state: 'PAUSED', types: [] });
  const rotated = (await ask(acme, mutations.rotate, { input: { id } })).data.rotateWebhookSecret;
  expect(rotated.secret).not.toBe(createWebhook.secret);
  expect(rotated.webhook.oldSecretUntil).toEqual(expect.any(String));
  expect((await ask(acme, mutations.test, { input: { id } })).data.testWebhook.delivery.type).toBe('WEBHOOK_TEST');
  await receiver.some('/graphql', 4);
  expect((await ask(acme, mutations.delete, { input: { id } })).data.deleteWebhook.webhook.id).toBe(id);
});

test('errors of a webhook are the same as in REST', async () => {
  const { errors } = await ask(acme, mutations.create, { input: { url: 'https://10.0.0.1/' } });
  expect(errors[0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ path: 'url', code: 'INVALID_URL' }],
  });
  const unknownType = await ask(acme, mutations.create, { input: { url: 'https://example.com/', types: ['x'] } });
  expect(unknownType.errors[0].extensions.code).toBe('VALIDATION_FAILED');
});

test("another company's webhook is answered like an unknown one, in every operation", async () => {
  const { createWebhook } = (await ask(acme, mutations.create, { input: { url: receiver.url('/own') } })).data;
  const { id } = createWebhook.webhook;
  const inputs = {
    update: { id, state: 'PAUSED' },
    delete: { id },
    rotate: { id },
    test: { id },
    redeliver: { webhookId: id, deliveryId: id },
  };
  for (const [name, input] of Object.entries(inputs)) {
    const { errors } = await ask(globex, mutations[name as keyof typeof inputs], { input });
    expect(errors[0].extensions.code, name).toBe('WEBHOOK_NOT_FOUND');
  }
  const seen = await ask(globex, LIST, { id });
  expect(seen.data).toEqual({ webhooks: { totalCount: 0, nodes: [] }, webhook: null });
  expect((await ask(acme, LIST, { id })).data.webhook.state).toBe('ACTIVE');
});

test.each(['OTHER', 'WEBHOOK_TEST'])('no webhook gets %s', async (type) => {
  const { errors } = await ask(acme, mutations.create, { input: { url: receiver.url('/none'), types: [type] } });
  expect(errors).toMatchObject([
    { message: 'types.0: cannot be subscribed to: webhooks get neither test events nor those of unknown types' },
  ]);
});
