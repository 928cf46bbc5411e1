import { type Delivery, deliveryStates } from '../../core/webhooks/deliveries.ts';
import type { Cost } from '../execution/cost.ts';
import { builder } from './builder.ts';
import { connectionType } from './connection.ts';

const deliveryMeanings = {
  PENDING: 'It has yet to be sent, or sent again.',
  SUCCEEDED: 'The receiver answered 2xx.',
  FAILED: 'It is not tried again by itself.',
};
export const DeliveryState = builder.enumType('DeliveryState', {
  description: 'What has become of a delivery.',
  values: Object.fromEntries(
    deliveryStates.map((state) => [state, { description: deliveryMeanings[state] }]),
  ) as Record<(typeof deliveryStates)[number], { description: string }>,
});

const DeliveryRequest = builder.objectRef<NonNullable<Delivery['request']>>('DeliveryRequest').implement({
  description: 'What was sent.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Where to.' }),
    headers: t.expose('headers', { type: 'JSON', description: 'Its headers.' }),
    body: t.exposeString('body', { description: 'Its body: the same on each attempt.' }),
  }),
});

export const DeliveryRef = builder.objectRef<Delivery>('Delivery');

builder.objectType(DeliveryRef, {
  description: 'One event on its way to one webhook. What was sent and answered is of the last attempt.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'A UUID; the same as in REST.' }),
    eventId: t.exposeID('eventId', { description: 'The event; the header `webhook-id`.' }),
    type: t.exposeString('type', { description: 'The type of the event.' }),
    state: t.expose('state', { type: DeliveryState, description: 'What has become of it.' }),
    attempts: t.exposeInt('attempts', { description: 'How often it was tried.' }),
    nextAttemptAt: t.expose('nextAttemptAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is tried next; null: not by itself, or not before the webhook is active again.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it became due.' }),
    attemptedAt: t.expose('attemptedAt', { type: 'DateTime', nullable: true, description: 'When it was last tried.' }),
    request: t.expose('request', {
      type: DeliveryRequest,
      nullable: true,
      description: 'What was last sent.',
      // Its body has up to 20 kB.
      extensions: { weight: 20 } satisfies Cost,
    }),
    status: t.exposeInt('status', { nullable: true, description: 'The status of the last answer.' }),
    answer: t.exposeString('answer', { nullable: true, description: 'The beginning of its body.' }),
    error: t.exposeString('error', { nullable: true, description: 'Why there was no answer.' }),
    durationMs: t.exposeInt('durationMs', { nullable: true, description: 'How long the last attempt took.' }),
  }),
});

export const DeliveryConnection = connectionType('Delivery', DeliveryRef);
