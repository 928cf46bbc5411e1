import { z } from 'zod';
import { readInput } from '../core/input.ts';
import { shapeOf } from '../core/sql/selection.ts';
import {
  type DeliveryState,
  delivery,
  deliveryState,
  listDeliveries,
  redeliver,
  testWebhook,
} from '../core/webhooks/deliveries.ts';
import { type WebhookWithSecret, webhook } from '../core/webhooks/webhook.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
} from '../core/webhooks/webhooks.ts';
import { expectedBy, getAnswer, taggedAnswer } from './etag.ts';
import { webhookDocs } from './openapi/webhooks.ts';
import { inSteps, jsonPageOf, listAnswer, membersOf, type RestRequest, type Route } from './route.ts';

const shape = shapeOf(webhook);
const withSecret = ({ webhook: made, secret }: WebhookWithSecret) => ({ ...shape(made), secret });

const deliveryShape = shapeOf(delivery);

const deliveryQuery = z.object({
  state: z.enum(deliveryState.options, `is one of ${deliveryState.options.join(', ')}`).optional(),
});

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
    answer: async (ctx, request) => getAnswer(request, shape(await getWebhook(ctx, idOf(request)))),
  },
  {
    method: 'PATCH',
    path: '/webhooks/:id',
    scope: 'fleets:write',
    body: 'json',
    docs: webhookDocs.update,
    async answer(ctx, request) {
      const input = { ...membersOf(request), ...idOf(request) };
      return taggedAnswer(200, shape(await updateWebhook(ctx, input, expectedBy(request, shape))));
    },
  },
  {
    method: 'DELETE',
    path: '/webhooks/:id',
    scope: 'fleets:write',
    docs: webhookDocs.delete,
    answer: async (ctx, request) => ({
      status: 200,
      body: shape(await deleteWebhook(ctx, idOf(request), expectedBy(request, shape))),
    }),
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
      const again = await redeliver(ctx, { webhookId: params.id ?? '', deliveryId: params.deliveryId ?? '' });
      return { status: 202, body: deliveryShape(again) };
    },
  },
];
