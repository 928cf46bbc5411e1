import { z } from 'zod';
import { readInput } from '../core/input.ts';
import { pick, type Selection } from '../core/sql/selection.ts';
import {
  type Delivery,
  type DeliveryState,
  deliveryStates,
  listDeliveries,
  redeliver,
  testWebhook,
} from '../core/webhooks/deliveries.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
  type Webhook,
  type WebhookWithSecret,
} from '../core/webhooks/webhooks.ts';
import { webhookDocs } from './openapi/webhooks.ts';
import { inSteps, jsonPageOf, listAnswer, membersOf, type RestRequest, type Route } from './route.ts';

const fields: Selection<Webhook> = {
  id: true,
  url: true,
  description: true,
  types: true,
  state: true,
  reason: true,
  oldSecretUntil: true,
  createdAt: true,
  updatedAt: true,
};
const shape = (webhook: Webhook) => pick(webhook, fields);
const withSecret = ({ webhook, secret }: WebhookWithSecret) => ({ ...shape(webhook), secret });

const deliveryFields: Selection<Delivery> = {
  id: true,
  webhookId: true,
  eventId: true,
  type: true,
  state: true,
  attempts: true,
  nextAttemptAt: true,
  createdAt: true,
  attemptedAt: true,
  request: true,
  status: true,
  answer: true,
  error: true,
  durationMs: true,
};
const deliveryShape = (delivery: Delivery) => pick(delivery, deliveryFields);

const deliveryQuery = z.object({ state: z.enum(deliveryStates, `is one of ${deliveryStates.join(', ')}`).optional() });

const idOf = ({ params }: RestRequest) => ({ id: params.id ?? '' });

export const webhookRoutes: Route[] = [
  {
    method: 'POST',
    path: '/webhooks',
    scope: 'fleets:write',
    body: 'json',
    docs: webhookDocs.create,
    async answer(ctx, { body }) {
      const created = await createWebhook(ctx, body);
      return { status: 201, headers: { Location: `/webhooks/${created.webhook.id}` }, body: withSecret(created) };
    },
  },
  {
    method: 'GET',
    path: '/webhooks',
    scope: 'fleets:read',
    docs: webhookDocs.list,
    answer: (ctx, request) =>
      listAnswer(request, '/webhooks', async (page) => jsonPageOf(await listWebhooks(ctx, { page }), shape)),
  },
  {
    method: 'GET',
    path: '/webhooks/:id',
    scope: 'fleets:read',
    docs: webhookDocs.get,
    answer: async (ctx, request) => ({ status: 200, body: shape(await getWebhook(ctx, idOf(request))) }),
  },
  {
    method: 'PATCH',
    path: '/webhooks/:id',
    scope: 'fleets:write',
    body: 'json',
    docs: webhookDocs.update,
    async answer(ctx, request) {
      return { status: 200, body: shape(await updateWebhook(ctx, { ...membersOf(request), ...idOf(request) })) };
    },
  },
  {
    method: 'DELETE',
    path: '/webhooks/:id',
    scope: 'fleets:write',
    docs: webhookDocs.delete,
    answer: async (ctx, request) => ({ status: 200, body: shape(await deleteWebhook(ctx, idOf(request))) }),
  },
  {
    method: 'POST',
    path: '/webhooks/:id/rotate',
    scope: 'fleets:write',
    docs: webhookDocs.rotate,
    answer: async (ctx, request) => ({ status: 200, body: withSecret(await rotateWebhookSecret(ctx, idOf(request))) }),
  },
  {
    method: 'POST',
    path: '/webhooks/:id/test',
    scope: 'fleets:write',
    docs: webhookDocs.test,
    answer: async (ctx, request) => ({ status: 202, body: deliveryShape(await testWebhook(ctx, idOf(request))) }),
  },
  {
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    scope: 'fleets:read',
    docs: webhookDocs.deliveries,
    answer(ctx, request) {
      const webhookId = request.params.id ?? '';
      const state: DeliveryState | undefined = readInput(deliveryQuery, request.query).state;
      const path = `/webhooks/${webhookId}/deliveries${state ? `?state=${state}` : ''}`;
      const read = inSteps(async (page) =>
        jsonPageOf(await listDeliveries(ctx, { webhookId, page, state }), deliveryShape),
      );
      return listAnswer(request, path, read);
    },
  },
  {
    method: 'POST',
    path: '/webhooks/:id/deliveries/:deliveryId/redeliver',
    scope: 'fleets:write',
    docs: webhookDocs.redeliver,
    async answer(ctx, { params }) {
      const delivery = await redeliver(ctx, { webhookId: params.id ?? '', deliveryId: params.deliveryId ?? '' });
      return { status: 202, body: deliveryShape(delivery) };
    },
  },
];
