import { z } from 'zod';
import { readInput } from '../core/input.ts';
import { jsonRowWriter } from '../core/sql/read.ts';
import { fieldCopier } from '../core/sql/selection.ts';
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
import { expectedBy } from './etag.ts';
import { inSteps, listAnswer, listOf, membersOf, operations } from './route.ts';

const secretJson = webhookSchema
  .extend({ secret: webhookWithSecretSchema.shape.secret })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with the secret that verifies its signatures.' });

const scope =
  'Where scopes are in use, it also needs `contracts:read` if events of contracts go there, or wait to be sent there.';
const errors = ['WEBHOOK_NOT_FOUND'] as const;
const one = { 200: { description: 'The webhook after the change.', schema: webhookSchema } };

const asJson = jsonRowWriter(webhookResource.members, webhookSchema);
const shape = fieldCopier(webhookSchema);
const withSecret = ({ webhook: made, secret }: WebhookWithSecret) => ({ ...shape(made), secret });

const deliveryShape = fieldCopier(deliverySchema);

const deliveryQuery = z.object({ state: deliveryStateSchema.optional() });

const { get, patch, post, remove } = operations('Webhooks');

export const webhookRoutes = [
  post('/webhooks', 'createWebhook', {
    summary: 'Create a webhook',
    description: `Creates a webhook: from now on, the company’s events are posted to its address, each at least once, signed as Standard Webhooks specifies. Only a 2xx answer is success; a delivery that fails is tried ten times within three and a half days. At most 100 webhooks. ${scope}`,
    body: createWebhookInput,
    answers: { 201: { description: 'The new webhook, with its secret.', schema: secretJson, headers: ['Location'] } },
    errors,
    async answer(ctx, { body }) {
      const created = await createWebhook(ctx, body);
      return { headers: { Location: `/webhooks/${created.webhook.id}` }, body: withSecret(created) };
    },
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
    errors,
    answer: async (ctx, { params }) => ({ body: shape(await getWebhook(ctx, params)) }),
  }),
  patch('/webhooks/:id', 'updateWebhook', {
    etag: true,
    summary: 'Change, pause or activate a webhook',
    description: `Changes the fields of a webhook that are sent, at least one. With the \`state\` \`PAUSED\` its events wait, \`ACTIVE\` sends those that have waited. ${scope}`,
    body: updateWebhookInput.omit({ id: true }),
    answers: one,
    errors,
    async answer(ctx, request) {
      const input = { ...membersOf(request), id: request.params.id };
      return { body: shape(await updateWebhook(ctx, input, expectedBy(request, shape))) };
    },
  }),
  remove('/webhooks/:id', 'deleteWebhook', {
    etag: true,
    summary: 'Delete a webhook',
    description: 'Deletes a webhook with its deliveries. One that is under way may still arrive.',
    answers: { 200: { description: 'The webhook as it was before its deletion.', schema: webhookSchema } },
    errors,
    answer: async (ctx, request) => ({
      body: shape(await deleteWebhook(ctx, request.params, expectedBy(request, shape))),
    }),
  }),
  post('/webhooks/:id/rotate', 'rotateWebhookSecret', {
    summary: 'Get a new secret',
    description: `Gives a webhook a new secret. For 24 hours, deliveries are signed with the old one as well. ${scope}`,
    answers: { 200: { description: 'The webhook, with its new secret.', schema: secretJson } },
    errors,
    answer: async (ctx, { params }) => ({ body: withSecret(await rotateWebhookSecret(ctx, params)) }),
  }),
  post('/webhooks/:id/test', 'testWebhook', {
    summary: 'Send a test event',
    description: 'Sends an event of type `webhook.test` to a webhook, once, regardless of its types and its state.',
    answers: { 202: { description: 'The delivery of the event, now on its way.', schema: deliverySchema } },
    errors,
    answer: async (ctx, { params }) => ({ body: deliveryShape(await testWebhook(ctx, params)) }),
  }),
  get('/webhooks/:id/deliveries', 'listDeliveries', {
    summary: 'List deliveries',
    description:
      'Lists the deliveries of a webhook, oldest first. Finished ones are kept for 30 days. Where scopes are in use, those of ' +
      'events of contracts need `contracts:read`.',
    query: ['deliveryState', 'limit', 'after'],
    answers: listOf('The deliveries of the list or the page.', deliverySchema),
    errors,
    answer(ctx, request) {
      const webhookId = request.params.id;
      const { state } = readInput(deliveryQuery, request.query);
      const read = inSteps((page) => listDeliveries(ctx, { webhookId, page, state }), deliveryShape);
      return listAnswer(request, read);
    },
  }),
  post('/webhooks/:id/deliveries/:deliveryId/redeliver', 'redeliver', {
    summary: 'Send a delivery again',
    description:
      'Sends a delivery again, at once, with the same id and body, in any state of the webhook. A finished one gets one more ' +
      'attempt. Where scopes are in use, an event of a contract needs `contracts:read`.',
    answers: { 202: { description: 'The delivery of the event, now on its way.', schema: deliverySchema } },
    errors: [...errors, 'NOT_FOUND'],
    answer: async (ctx, { params: { id: webhookId, deliveryId } }) => ({
      body: deliveryShape(await redeliver(ctx, { webhookId, deliveryId })),
    }),
  }),
];
