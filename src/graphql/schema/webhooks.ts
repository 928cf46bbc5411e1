import { z } from 'zod';
import { eventTypeOf } from '../../core/events/event-data.ts';
import { id } from '../../core/input.ts';
import { delivery, deliveryRequest, deliveryState, redeliver, testWebhook } from '../../core/webhooks/deliveries.ts';
import {
  createWebhookInput,
  updateWebhookInput,
  type Webhook,
  webhook,
  webhookState,
  webhookWithSecret,
} from '../../core/webhooks/webhook.ts';
import { createWebhook, deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../core/webhooks/webhooks.ts';
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';
import { addById, addList, connectionType, pageArgs } from './connection.ts';
import { enumOf, objectOf } from './described.ts';
import { EventType, typeAsStored } from './events.ts';
import { addMutation, idOf } from './mutation.ts';

const WebhookState = enumOf('WebhookState', webhookState, 'Whether a webhook gets its events.', {
  ACTIVE: 'Events are sent to it.',
  PAUSED: 'Its events wait for it.',
  DISABLED: 'The receiver answered 410; its events wait for it, too.',
});

const types = { types: { type: [EventType] } };
const WebhookRef = objectOf('Webhook', webhook, {
  types: { type: [EventType], resolve: ({ types }: Webhook) => types.map(eventTypeOf) },
});
addList('webhooks', connectionType('Webhook', WebhookRef), 'The webhooks of the company, oldest first.');

addById('webhook', WebhookRef, 'One webhook. Errors: WEBHOOK_NOT_FOUND.');

addMutation(
  'createWebhook',
  {
    description:
      'Has the company’s events posted to an address from now on. Errors: VALIDATION_FAILED, FORBIDDEN (events of contracts go there, and the token may not read them).',
    input: createWebhookInput,
    payload: webhookWithSecret,
    change: createWebhook,
  },
  { input: types },
);

addMutation(
  'updateWebhook',
  {
    description:
      'Changes, pauses or activates a webhook. Errors: WEBHOOK_NOT_FOUND, VALIDATION_FAILED, FORBIDDEN (events of contracts go there, and the token may not read them).',
    input: updateWebhookInput,
    payload: z.object({ webhook: webhook.describe('The webhook.') }).describe('The webhook as it is now.'),
    change: async (ctx, input) => ({ webhook: await updateWebhook(ctx, input) }),
  },
  { input: { ...types, state: { type: WebhookState } } },
);

addMutation('deleteWebhook', {
  description: 'Deletes a webhook with its deliveries. Errors: WEBHOOK_NOT_FOUND.',
  input: idOf('The webhook to delete.'),
  payload: z.object({ webhook: webhook.describe('The webhook.') }).describe('The webhook as it was.'),
  change: async (ctx, input) => ({ webhook: await deleteWebhook(ctx, input) }),
});

addMutation('rotateWebhookSecret', {
  description:
    'Gives a webhook a new secret; for 24 hours the old one signs, too. Errors: WEBHOOK_NOT_FOUND, FORBIDDEN (events of contracts go there, and the token may not read them).',
  input: idOf('The webhook that gets a new secret.'),
  payload: webhookWithSecret,
  change: rotateWebhookSecret,
});

const sent = z.object({ delivery: delivery.describe('The delivery.') }).describe('A delivery on its way.');

addMutation('testWebhook', {
  description: 'Sends an event of type `webhook.test`, once, in any state of the webhook. Errors: WEBHOOK_NOT_FOUND.',
  input: idOf('The webhook to try.'),
  payload: sent,
  change: async (ctx, input) => ({ delivery: await testWebhook(ctx, input) }),
});

addMutation('redeliver', {
  description:
    'Sends a delivery again, at once, with the same id and body, in any state of the webhook. Errors: WEBHOOK_NOT_FOUND, NOT_FOUND, FORBIDDEN (it is an event of a contract, and the token may not read it).',
  input: z
    .object({ webhookId: id.describe('The webhook.'), deliveryId: id.describe('The delivery.') })
    .describe('The delivery to send again.'),
  payload: sent,
  change: async (ctx, input) => ({ delivery: await redeliver(ctx, input) }),
});

const DeliveryState = enumOf('DeliveryState', deliveryState, 'What has become of a delivery.', {
  PENDING: 'It has yet to be sent, or sent again.',
  SUCCEEDED: 'The receiver answered 2xx.',
  FAILED: 'It is not tried again by itself.',
});

objectOf('DeliveryRequest', deliveryRequest);

const DeliveryRef = objectOf('Delivery', delivery, {
  webhookId: false,
  type: typeAsStored,
  // The body of a delivery has up to 20 kB.
  request: { extensions: { weight: 20 } satisfies Cost },
});
addList(
  'deliveries',
  connectionType('Delivery', DeliveryRef),
  'Its deliveries, oldest first: those of events that the token may read. Finished ones are kept for 30 days.',
  {
    of: WebhookRef,
    args: builder.args((t) => ({
      ...pageArgs,
      state: t.field({ type: DeliveryState, description: 'Only those in this state.' }),
    })),
  },
);
