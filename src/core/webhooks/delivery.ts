import { z } from 'zod';
import { deliveryStates } from '../../entities/webhook.ts';
import { eventTypes } from '../events/record-events.ts';
import { field } from '../fields.ts';

export const deliveryState = z.enum(deliveryStates);
export type DeliveryState = z.output<typeof deliveryState>;

const eventId = '019aa1b2-9e5f-7061-8c8d-2e3f4a5b6c7d';

export const deliveryRequest = z
  .object({
    url: z.string().describe('Where to.'),
    headers: z.record(z.string(), z.string()).describe('Its headers.'),
    body: z.string().describe('Its body: the same on each attempt.'),
  })
  .describe('What was sent.');

/** One event on its way to one webhook. Times are ISO 8601 UTC. */
export const delivery = z
  .object({
    id: field(
      z.uuid(),
      'Identifies the delivery: the same in both interfaces.',
      '019aa1b2-af60-7172-9d9e-3f4a5b6c7d8e',
    ),
    webhookId: field(z.uuid(), 'Where it goes.', '019aa1b2-8d4e-7f50-9b7c-1d2e3f4a5b6c'),
    eventId: field(z.uuid(), 'The event that it brings; the header `webhook-id`.', eventId),
    type: field(z.enum(eventTypes), 'The type of the event.', 'eligibility.changed'),
    state: field(deliveryState, '`PENDING` until it has succeeded or will not be tried again.', 'SUCCEEDED'),
    attempts: field(z.int(), 'How often it was tried.', 1),
    nextAttemptAt: field(
      z.iso.datetime().nullable(),
      'When it is tried next; null: not by itself, or not before the webhook is active again.',
      null,
    ),
    createdAt: field(z.iso.datetime(), 'When it became due.', '2026-11-20T08:00:00.000Z'),
    attemptedAt: field(z.iso.datetime().nullable(), 'When it was last tried.', '2026-11-20T08:00:00.000Z'),
    request: field(deliveryRequest.nullable(), 'What was last sent.', {
      url: 'https://example.com/fleet-events',
      headers: { 'webhook-id': eventId },
      body: '{}',
    }),
    status: field(z.int().nullable(), 'The status of the last answer; null: there was none.', 204),
    answer: field(z.string().nullable(), 'The beginning of its body.', ''),
    error: field(z.string().nullable(), 'Why there was no answer.', null),
    durationMs: field(z.int().nullable(), 'How long the last attempt took.', 87),
  })
  .meta({
    id: 'Delivery',
    description: 'One event on its way to one webhook. What was sent and answered is of the last attempt.',
  });
export type Delivery = z.output<typeof delivery>;
