import { z } from 'zod';
import type { Context } from '../../core/context.ts';
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
  webhookCommands,
  webhookReasonCodeSchema,
  webhookSchema,
  webhookStateSchema,
  webhookWithSecretSchema,
} from '../../core/webhooks/webhook.ts';
import { createWebhook, deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../core/webhooks/webhooks.ts';
import { schemaBuilder } from './builder.ts';
import { addByIdField, addListField, connectionType, pageArgs } from './connection.ts';
import { addMutation, enumTypeOf, idInputSchema, objectTypeOf, resultOf } from './described.ts';
import { EventTypeRef, eventTypeOverride } from './events.ts';
import type { CostExtension } from './graphql-context.ts';

const WebhookState = enumTypeOf('WebhookState', webhookStateSchema, 'The state of a webhook, sending or stopped.', {
  ACTIVE: 'Events are sent to the webhook as they happen.',
  PAUSED:
    'Events wait until `updateWebhook` sets ACTIVE: a caller paused the webhook, or the gateway did after a delivery’s last attempt failed.',
  DISABLED: 'Events wait until `updateWebhook` sets ACTIVE, since the webhook’s receiver answered 410 (Gone).',
});

enumTypeOf('WebhookReasonCode', webhookReasonCodeSchema, 'The code of the reason why the gateway stopped a webhook.', {
  ATTEMPTS_EXHAUSTED: 'The last attempt to deliver an event failed, so the webhook was paused.',
  RECEIVER_GONE: 'The webhook’s receiver answered 410 (Gone), so the webhook was disabled.',
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
  errors: ['WEBHOOK_NOT_FOUND'],
});

addMutation(
  'createWebhook',
  {
    // A repeated request shows the secret of a webhook that may have been deleted since.
    ...webhookCommands.createWebhook,
    input: createWebhookInput,
    payload: webhookWithSecretSchema,
    change: createWebhook,
  },
  { input: types },
);

addMutation(
  'updateWebhook',
  {
    ...webhookCommands.updateWebhook,
    input: updateWebhookInput,
    payload: resultOf('changing a webhook', { webhook: webhookSchema.describe('The webhook after the change.') }),
    change: async (ctx, input) => ({ webhook: await updateWebhook(ctx, input) }),
  },
  { input: { ...types, state: { type: WebhookState } } },
);

addMutation('deleteWebhook', {
  ...webhookCommands.deleteWebhook,
  input: idInputSchema('webhook', 'The webhook to delete.'),
  payload: resultOf('deleting a webhook', {
    webhook: webhookSchema.describe('The webhook as it was before its deletion.'),
  }),
  change: async (ctx, input) => ({ webhook: await deleteWebhook(ctx, input) }),
});

addMutation('rotateWebhookSecret', {
  ...webhookCommands.rotateWebhookSecret,
  input: idInputSchema('webhook', 'The webhook that gets a new secret.'),
  payload: webhookWithSecretSchema,
  change: rotateWebhookSecret,
});

const sent = { delivery: deliverySchema.describe('The delivery of the event, now on its way.') };

addMutation('testWebhook', {
  ...webhookCommands.testWebhook,
  input: idInputSchema('webhook', 'The webhook to test.'),
  payload: resultOf('testing a webhook', sent),
  change: async (ctx, input) => ({ delivery: await testWebhook(ctx, input) }),
});

const redeliveryInput = z
  .object({
    webhookId: idSchema.describe('The id of the webhook.'),
    deliveryId: idSchema.describe('The id of the delivery.'),
  })
  .describe('The delivery of an event to send again.');
const redelivery = {
  ...webhookCommands.redeliver,
  input: redeliveryInput,
  payload: resultOf('sending a delivery again', sent),
  change: async (ctx: Context, input: z.output<typeof redeliveryInput>) => ({ delivery: await redeliver(ctx, input) }),
};
addMutation('redeliverWebhookDelivery', redelivery);
addMutation('redeliver', { ...redelivery, deprecationReason: 'Use `redeliverWebhookDelivery`.' });

const DeliveryState = enumTypeOf('DeliveryState', deliveryStateSchema, 'The state of an event’s delivery.', {
  PENDING: 'The event is still to be sent to the webhook, or to be sent again.',
  SUCCEEDED: 'The webhook’s receiver answered with an HTTP status of 200 to 299.',
  FAILED: 'The last attempt to deliver the event failed. Only `redeliverWebhookDelivery` makes another.',
});

enumTypeOf(
  'DeliveryErrorCode',
  deliveryErrorCodeSchema,
  'The code of the reason why an attempt to deliver an event got no answer.',
  {
    URL_NOT_ALLOWED: 'The gateway does not send to the webhook’s URL; `error` says why.',
    HOST_NOT_FOUND: 'The host name of the webhook’s URL cannot be resolved.',
    HOST_NOT_PUBLIC: 'The host of the webhook’s URL is not on the public internet.',
    CONNECTION_REFUSED: 'The webhook’s receiver refused the connection.',
    CONNECTION_CLOSED: 'The webhook’s receiver closed the connection before it answered.',
    TIMEOUT: 'The webhook’s receiver did not answer within 15 seconds.',
    REQUEST_FAILED: 'The delivery failed in another way, such as by an invalid certificate; `error` has the cause.',
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
  'The deliveries of events to the webhook, oldest first, as far as the token may read the events. Finished ones are kept for 30 days.',
  {
    of: WebhookRef,
    args: schemaBuilder.args((t) => ({
      ...pageArgs,
      state: t.field({ type: DeliveryState, description: 'The state of the deliveries to list.' }),
    })),
  },
);
