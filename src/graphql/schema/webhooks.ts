import { z } from 'zod';
import { knownEventType } from '../../core/events/event-data.ts';
import { idSchema } from '../../core/input.ts';
import {
  deliveryErrorCodeSchema,
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
  webhookReasonCodeSchema,
  webhookSchema,
  webhookStateSchema,
  webhookWithSecretSchema,
} from '../../core/webhooks/webhook.ts';
import { createWebhook, deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../core/webhooks/webhooks.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType, pageArgs } from './connection.ts';
import { enumTypeOf, objectTypeOf } from './described.ts';
import { EventTypeRef, eventTypeOverride } from './events.ts';
import type { CostExtension } from './graphql-context.ts';
import { addMutation, idInputSchema } from './mutation.ts';

const WebhookState = enumTypeOf('WebhookState', webhookStateSchema, 'The state of a webhook.', {
  ACTIVE: 'Events are sent to the webhook.',
  PAUSED:
    'Events wait for the webhook: a caller paused it, or the gateway did after the last attempt of a delivery failed.',
  DISABLED: 'Events wait for the webhook, since the receiver answered 410 (Gone).',
});

enumTypeOf('WebhookReasonCode', webhookReasonCodeSchema, 'The code of the reason why the gateway stopped a webhook.', {
  ATTEMPTS_EXHAUSTED: 'The last attempt to deliver an event failed, so the webhook is paused.',
  RECEIVER_GONE: 'The receiver answered 410 (Gone), so the webhook is disabled.',
});

const types = {
  types: {
    type: [EventTypeRef],
    description:
      'The types of events that the webhook receives; empty for all. `OTHER` and `WEBHOOK_TEST` are rejected.',
  },
};
const WebhookRef = objectTypeOf('Webhook', webhookSchema, {
  types: { type: [EventTypeRef], resolve: ({ types }: Webhook) => types.map(knownEventType) },
});
addListField(
  'webhooks',
  connectionType('Webhook', WebhookRef, 'webhooks'),
  'Lists the webhooks of the company, oldest first.',
);

addByIdField('webhook', WebhookRef, 'Returns a webhook by its id, without its secret.', {
  extensions: { errors: ['WEBHOOK_NOT_FOUND'] },
});

/** Such as for all types. */
const contractEvents = 'If events of contracts go there, or wait to be sent there, it also needs `contracts:read`.';

addMutation(
  'createWebhook',
  {
    description: `Creates a webhook: from now on, the company’s events are posted to its address. At most 100 webhooks. ${contractEvents}`,
    // A repeated request shows the secret of a webhook that may have been deleted since.
    errors: ['VALIDATION_FAILED', 'WEBHOOK_NOT_FOUND'],
    input: createWebhookInput,
    payload: webhookWithSecretSchema,
    change: createWebhook,
  },
  { input: types },
);

addMutation(
  'updateWebhook',
  {
    description: `Changes, pauses or activates a webhook. Activating it sends the events that have waited. ${contractEvents}`,
    errors: ['WEBHOOK_NOT_FOUND', 'VALIDATION_FAILED'],
    input: updateWebhookInput,
    payload: z
      .object({ webhook: webhookSchema.describe('The webhook as it is now.') })
      .describe('The result of changing a webhook.'),
    change: async (ctx, input) => ({ webhook: await updateWebhook(ctx, input) }),
  },
  { input: { ...types, state: { type: WebhookState } } },
);

addMutation('deleteWebhook', {
  description: 'Deletes a webhook with its deliveries. One that is under way may still arrive.',
  errors: ['WEBHOOK_NOT_FOUND'],
  input: idInputSchema('webhook', 'The webhook to delete.'),
  payload: z
    .object({ webhook: webhookSchema.describe('The webhook as it was before its deletion.') })
    .describe('The result of deleting a webhook.'),
  change: async (ctx, input) => ({ webhook: await deleteWebhook(ctx, input) }),
});

addMutation('rotateWebhookSecret', {
  description: `Gives a webhook a new secret. For 24 hours, deliveries are signed with the old one as well. ${contractEvents}`,
  errors: ['WEBHOOK_NOT_FOUND'],
  input: idInputSchema('webhook', 'The webhook that gets a new secret.'),
  payload: webhookWithSecretSchema,
  change: rotateWebhookSecret,
});

const sent = (description: string) =>
  z.object({ delivery: deliverySchema.describe('The delivery, which is on its way.') }).describe(description);

addMutation('testWebhook', {
  description: 'Sends an event of type WEBHOOK_TEST to a webhook, once, regardless of its types and its state.',
  errors: ['WEBHOOK_NOT_FOUND'],
  input: idInputSchema('webhook', 'The webhook to test.'),
  payload: sent('The result of testing a webhook.'),
  change: async (ctx, input) => ({ delivery: await testWebhook(ctx, input) }),
});

addMutation('redeliver', {
  description:
    'Sends a delivery again, at once, with the same id and body, in any state of the webhook. An event of a contract also needs `contracts:read`.',
  errors: ['WEBHOOK_NOT_FOUND', 'NOT_FOUND'],
  input: z
    .object({
      webhookId: idSchema.describe('The id of the webhook.'),
      deliveryId: idSchema.describe('The id of the delivery.'),
    })
    .describe('The delivery to send again.'),
  payload: sent('The result of sending a delivery again.'),
  change: async (ctx, input) => ({ delivery: await redeliver(ctx, input) }),
});

const DeliveryState = enumTypeOf('DeliveryState', deliveryStateSchema, 'The state of a delivery.', {
  PENDING: 'The delivery is still to be sent, or to be sent again.',
  SUCCEEDED: 'The receiver answered with a status of 200 to 299.',
  FAILED: 'The delivery failed, and is not tried again by itself.',
});

enumTypeOf(
  'DeliveryErrorCode',
  deliveryErrorCodeSchema,
  'The code of the reason why an attempt to deliver an event got no answer.',
  {
    URL_NOT_ALLOWED: 'The gateway does not send to the URL; `error` says why.',
    HOST_NOT_FOUND: 'The host name cannot be resolved.',
    HOST_NOT_PUBLIC: 'The host is not on the public internet.',
    CONNECTION_REFUSED: 'The receiver refused the connection.',
    CONNECTION_CLOSED: 'The connection was closed before an answer.',
    TIMEOUT: 'The receiver did not answer within 15 seconds.',
    REQUEST_FAILED: 'The request failed in another way, such as by a certificate; `error` has the cause.',
  },
);

objectTypeOf('DeliveryRequest', deliveryRequestSchema);

const DeliveryRef = objectTypeOf('Delivery', deliverySchema, {
  webhookId: false,
  type: eventTypeOverride,
  // The body of a delivery has up to 20 kB.
  request: { extensions: { weight: 20 } satisfies CostExtension },
});
addListField(
  'deliveries',
  connectionType('Delivery', DeliveryRef, 'deliveries'),
  'The deliveries of the webhook, oldest first, of events that the token may read. Finished ones are kept for 30 days.',
  {
    of: WebhookRef,
    args: schemaBuilder.args((t) => ({
      ...pageArgs,
      state: t.field({ type: DeliveryState, description: 'Only deliveries in this state.' }),
    })),
  },
);
