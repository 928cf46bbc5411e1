import { z } from 'zod';
import { readInput } from '../core/input.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { copierOf } from '../core/sql/selection.ts';
import {
  deliverySchema,
  deliveryStateSchema,
  listDeliveries,
  redeliver,
  testWebhook,
} from '../core/webhooks/deliveries.ts';
import {
  createWebhookInput,
  updateWebhookInput,
  type WebhookWithSecret,
  webhookCommands,
  webhookSchema,
  webhookWithSecretSchema,
} from '../core/webhooks/webhook.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
  webhookResource,
} from '../core/webhooks/webhooks.ts';
import { inSteps, listAnswer, listOf } from './list.ts';
import { membersOf, operations } from './route.ts';

const secretJson = webhookSchema
  .extend({ secret: webhookWithSecretSchema.shape.secret })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with the secret that verifies its signatures.' });

const one = { 200: 'The webhook after the change.' };

const asJson = jsonRowWriter(webhookResource.members, webhookSchema);
const withSecret = ({ webhook, secret }: WebhookWithSecret) => ({ ...webhook, secret });

const copyDelivery = copierOf(deliverySchema);

const deliveryQuery = z.object({ state: deliveryStateSchema.optional() });

const { get, patch, post, remove } = operations('Webhooks', { resource: webhookSchema, missing: 'WEBHOOK_NOT_FOUND' });

export const webhookRoutes = [
  post('/webhooks', 'createWebhook', {
    summary: 'Create a webhook',
    ...webhookCommands.createWebhook,
    body: createWebhookInput,
    answers: { 201: { description: 'The new webhook, with its secret.', schema: secretJson, headers: ['Location'] } },
    result: async (ctx, { body }) => withSecret(await createWebhook(ctx, body)),
  }),
  get('/webhooks', 'listWebhooks', {
    summary: 'List webhooks',
    description: 'Lists the webhooks of the company, oldest first.',
    query: ['limit', 'after'],
    answers: listOf('The webhooks of the list or the page.', webhookSchema),
    answer: (ctx, request) => listAnswer(request, (page) => listWebhooks(ctx, asJson, { page })),
  }),
  get('/webhooks/:id', 'getWebhook', {
    etag: true,
    summary: 'Get a webhook',
    description: 'Returns a webhook, without its secret.',
    answers: one,
    result: (ctx, { params }) => getWebhook(ctx, params),
  }),
  patch('/webhooks/:id', 'updateWebhook', {
    etag: true,
    summary: 'Change, pause or activate a webhook',
    ...webhookCommands.updateWebhook,
    body: updateWebhookInput.omit({ id: true }),
    answers: one,
    result: (ctx, request) => updateWebhook(ctx, { ...membersOf(request), id: request.params.id }, request.expected),
  }),
  remove('/webhooks/:id', 'deleteWebhook', {
    etag: true,
    summary: 'Delete a webhook',
    ...webhookCommands.deleteWebhook,
    answers: { 200: 'The webhook as it was before its deletion.' },
    result: (ctx, { params, expected }) => deleteWebhook(ctx, params, expected),
  }),
  post('/webhooks/:id/rotate', 'rotateWebhookSecret', {
    summary: 'Get a new secret',
    ...webhookCommands.rotateWebhookSecret,
    answers: { 200: { description: 'The webhook, with its new secret.', schema: secretJson } },
    result: async (ctx, { params }) => withSecret(await rotateWebhookSecret(ctx, params)),
  }),
  post('/webhooks/:id/test', 'testWebhook', {
    summary: 'Send a test event',
    ...webhookCommands.testWebhook,
    answers: { 202: { description: 'The delivery of the event, now on its way.', schema: deliverySchema } },
    result: (ctx, { params }) => testWebhook(ctx, params),
  }),
  get('/webhooks/:id/deliveries', 'listDeliveries', {
    summary: 'List deliveries',
    description:
      'Lists the deliveries of a webhook, oldest first. Finished ones are kept for 30 days. Where scopes are in use, those of ' +
      'events of contracts need `contracts:read`.',
    query: ['deliveryState', 'limit', 'after'],
    answers: listOf('The deliveries of the list or the page.', deliverySchema),
    answer(ctx, request) {
      const webhookId = request.params.id;
      const { state } = readInput(deliveryQuery, request.query);
      const read = inSteps((page) => listDeliveries(ctx, { webhookId, page, state }), copyDelivery);
      return listAnswer(request, read);
    },
  }),
  post('/webhooks/:id/deliveries/:deliveryId/redeliver', 'redeliver', {
    summary: 'Send a delivery again',
    ...webhookCommands.redeliver,
    answers: { 202: { description: 'The delivery of the event, now on its way.', schema: deliverySchema } },
    result: (ctx, { params: { id: webhookId, deliveryId } }) => redeliver(ctx, { webhookId, deliveryId }),
  }),
];
