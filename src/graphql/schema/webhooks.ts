import { z } from 'zod';
import { knownEventType } from '../../core/events/event-data.ts';
import { idSchema } from '../../core/input.ts';
import {
  deliveryRequestSchema,
  deliverySchema,
  deliveryStateSchema,
  redeliver,
  testWebhook,
} from '../../core/webhooks/deliveries.ts';
import {
  createWebhookInput,
  updateWebhookInput,
  type Webhook,
  webhookSchema,
  webhookStateSchema,
  webhookWithSecretSchema,
} from '../../core/webhooks/webhook.ts';
import { createWebhook, deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../core/webhooks/webhooks.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType, pageArgs } from './connection.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import { EventTypeRef, eventTypeOverride } from './events.ts';
import type { CostExtension } from './extensions.ts';
import { addMutation, idInputSchema } from './mutation.ts';

const WebhookState = enumTypeOf('WebhookState', webhookStateSchema, 'Whether a webhook gets its events.', {
  ACTIVE: 'Events are sent to it.',
  PAUSED: 'Its events wait for it.',
  DISABLED: 'The receiver answered 410; its events wait for it, too.',
});

const types = {
  types: {
    type: [EventTypeRef],
    description: 'The types of events it gets; empty for all. `OTHER` and `WEBHOOK_TEST` are rejected.',
  },
};
const WebhookRef = objectTypeOf('Webhook', webhookSchema, {
  types: { type: [EventTypeRef], resolve: ({ types }: Webhook) => types.map(knownEventType) },
});
addListField('webhooks', connectionType('Webhook', WebhookRef), 'The webhooks of the company, oldest first.');

addByIdField('webhook', WebhookRef, 'One webhook. Errors: WEBHOOK_NOT_FOUND.');

addMutation(
  'createWebhook',
  {
    description:
      'Has the company’s events posted to an address from now on. Errors: VALIDATION_FAILED, FORBIDDEN (events of contracts go there, and the token may not read them).',
    input: createWebhookInput,
    payload: webhookWithSecretSchema,
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
    payload: z.object({ webhook: webhookSchema.describe('The webhook.') }).describe('The webhook as it is now.'),
    change: async (ctx, input) => ({ webhook: await updateWebhook(ctx, input) }),
  },
  { input: { ...types, state: { type: WebhookState } } },
);

addMutation('deleteWebhook', {
  description: 'Deletes a webhook with its deliveries. Errors: WEBHOOK_NOT_FOUND.',
  input: idInputSchema('The webhook to delete.'),
  payload: z.object({ webhook: webhookSchema.describe('The webhook.') }).describe('The webhook as it was.'),
  change: async (ctx, input) => ({ webhook: await deleteWebhook(ctx, input) }),
});

addMutation('rotateWebhookSecret', {
  description:
    'Gives a webhook a new secret; for 24 hours the old one signs, too. Errors: WEBHOOK_NOT_FOUND, FORBIDDEN (events of contracts go there, and the token may not read them).',
  input: idInputSchema('The webhook that gets a new secret.'),
  payload: webhookWithSecretSchema,
  change: rotateWebhookSecret,
});

const sent = z.object({ delivery: deliverySchema.describe('The delivery.') }).describe('A delivery on its way.');

addMutation('testWebhook', {
  description: 'Sends an event of type `webhook.test`, once, in any state of the webhook. Errors: WEBHOOK_NOT_FOUND.',
  input: idInputSchema('The webhook to try.'),
  payload: sent,
  change: async (ctx, input) => ({ delivery: await testWebhook(ctx, input) }),
});

addMutation('redeliver', {
  description:
    'Sends a delivery again, at once, with the same id and body, in any state of the webhook. Errors: WEBHOOK_NOT_FOUND, NOT_FOUND, FORBIDDEN (it is an event of a contract, and the token may not read it).',
  input: z
    .object({ webhookId: idSchema.describe('The webhook.'), deliveryId: idSchema.describe('The delivery.') })
    .describe('The delivery to send again.'),
  payload: sent,
  change: async (ctx, input) => ({ delivery: await redeliver(ctx, input) }),
});

const DeliveryState = enumTypeOf('DeliveryState', deliveryStateSchema, 'What has become of a delivery.', {
  PENDING: 'It has yet to be sent, or sent again.',
  SUCCEEDED: 'The receiver answered 2xx.',
  FAILED: 'It is not tried again by itself.',
});

objectTypeOf('DeliveryRequest', deliveryRequestSchema);

const DeliveryRef = objectTypeOf('Delivery', deliverySchema, {
  webhookId: false,
  type: eventTypeOverride,
  // The body of a delivery has up to 20 kB.
  request: { extensions: { weight: 20 } satisfies CostExtension },
});
addListField(
  'deliveries',
  connectionType('Delivery', DeliveryRef),
  'Its deliveries, oldest first: those of events that the token may read. Finished ones are kept for 30 days.',
  {
    of: WebhookRef,
    args: schemaBuilder.args((t) => ({
      ...pageArgs,
      state: t.field({ type: DeliveryState, description: 'Only those in this state.' }),
    })),
  },
);
