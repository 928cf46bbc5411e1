import { expect, test } from 'vitest';
import { deliveryStates } from '../../src/core/webhooks/deliveries.ts';
import { webhookStates } from '../../src/core/webhooks/webhooks.ts';
import * as delivery from '../../src/entities/delivery.ts';
import * as webhook from '../../src/entities/webhook.ts';

test.each([
  ['states of a webhook', webhookStates, webhook.webhookStates],
  ['states of a delivery', deliveryStates, delivery.deliveryStates],
])('callers are told of the same %s as the database keeps', (_name, told, kept) => {
  expect(told).toEqual(kept);
});
