import { z } from 'zod';
import { eventTypes } from '../../core/events/record-events.ts';
import { field } from '../../core/fields.ts';
import { deliveryStates } from '../../core/webhooks/deliveries.ts';
import {
  createWebhookInput,
  subscribableTypes,
  updateWebhookInput,
  webhookStates,
} from '../../core/webhooks/webhooks.ts';
import type { RouteDocs } from './route-docs.ts';

const time = '2026-11-20T08:00:00.000Z';
const eventId = '019aa1b2-9e5f-7061-8c8d-2e3f4a5b6c7d';
const webhookId = '019aa1b2-8d4e-7f50-9b7c-1d2e3f4a5b6c';
const url = 'https://example.com/fleet-events';

const webhookFields = {
  id: field(z.uuid(), 'Identifies the webhook.', webhookId),
  url: field(z.url(), 'Where events are posted to: https, on the public internet, without credentials.', url),
  description: field(z.string(), 'Whatever helps you to tell it from others.', 'Dispatch'),
  types: field(z.array(z.enum(subscribableTypes)), 'The types of events it gets; empty for all.', [
    'eligibility.changed',
  ]),
  state: field(
    z.enum(webhookStates),
    '`PAUSED`: its events wait for it. `DISABLED`: they do, too, since the receiver answered 410. `ACTIVE` sends them.',
    'ACTIVE',
  ),
  reason: field(z.string().nullable(), 'Why it was paused or disabled by itself.', null),
  oldSecretUntil: field(z.iso.datetime().nullable(), 'Until then, the secret before this one signs, too.', null),
  createdAt: field(z.iso.datetime(), 'When it was created.', time),
  updatedAt: field(z.iso.datetime(), 'When it last changed.', time),
};
const webhookJson = z
  .object(webhookFields)
  .meta({ id: 'Webhook', description: 'An address of yours that events are posted to.' });

const secret = field(
  z.string(),
  'Verifies signatures as Standard Webhooks says. Shown this once; a repetition with the same Idempotency-Key has the secret of that moment.',
  'whsec_8Zl3sXyKzQmYp1tVb0cN4dRfUe6hWgJk5oLi7aMxTqA=',
);
const webhookWithSecretJson = z
  .object({ ...webhookFields, secret })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its signing secret.' });

const deliveryJson = z
  .object({
    id: field(z.uuid(), 'Identifies the delivery.', '019aa1b2-af60-7172-9d9e-3f4a5b6c7d8e'),
    webhookId: field(z.uuid(), 'Where it goes.', webhookId),
    eventId: field(z.uuid(), 'What it brings; the header `webhook-id`.', eventId),
    type: field(z.enum(eventTypes), 'The type of the event.', 'eligibility.changed'),
    state: field(z.enum(deliveryStates), '`PENDING` until it has succeeded or will not be tried again.', 'SUCCEEDED'),
    attempts: field(z.int(), 'How often it was tried.', 1),
    nextAttemptAt: field(z.iso.datetime().nullable(), 'When it is tried next.', null),
    createdAt: field(z.iso.datetime(), 'When it became due.', time),
    attemptedAt: field(z.iso.datetime().nullable(), 'When it was last tried.', time),
    request: field(
      z.object({ url: z.string(), headers: z.record(z.string(), z.string()), body: z.string() }).nullable(),
      'What was last sent.',
      { url, headers: { 'webhook-id': eventId }, body: '{}' },
    ),
    status: field(z.int().nullable(), 'The status of the last answer; null: there was none.', 204),
    answer: field(z.string().nullable(), 'The beginning of its body.', ''),
    error: field(z.string().nullable(), 'Why there was no answer.', null),
    durationMs: field(z.int().nullable(), 'How long the last attempt took.', 87),
  })
  .meta({
    id: 'Delivery',
    description: 'One event on its way to one webhook. What was sent and answered is of the last attempt.',
  });

const scope =
  'Where scopes are in use, it also needs `contracts:read` if events of contracts go there, or wait to be sent there.';
const errors = ['WEBHOOK_NOT_FOUND'] as const;
const one = { 200: { description: 'The webhook.', schema: webhookJson } };

export const webhookDocs = {
  create: {
    operationId: 'createWebhook',
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description: `Posts the company’s events to an address from now on, at least once each, signed as Standard Webhooks says. Only 2xx is success; what fails is tried ten times in three and a half days. ${scope}`,
    body: { input: createWebhookInput, fields: webhookJson },
    answers: {
      201: { description: 'The webhook, with its secret.', schema: webhookWithSecretJson, headers: ['Location'] },
    },
    errors,
  },
  list: {
    operationId: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhooks',
    description: 'The webhooks of the company, oldest first.',
    query: ['limit', 'after'],
    answers: { 200: { description: 'The webhooks.', schema: z.array(webhookJson), headers: ['Link'] } },
  },
  get: {
    operationId: 'getWebhook',
    tag: 'Webhooks',
    summary: 'Get a webhook',
    description: 'One webhook; its secret is not shown again.',
    answers: one,
    errors,
  },
  update: {
    operationId: 'updateWebhook',
    tag: 'Webhooks',
    summary: 'Change, pause or activate a webhook',
    description: `Changes what is named. \`state\` \`PAUSED\` lets events wait, \`ACTIVE\` sends what has waited. ${scope}`,
    body: { input: updateWebhookInput.omit({ id: true }), fields: webhookJson },
    answers: one,
    errors,
  },
  delete: {
    operationId: 'deleteWebhook',
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Deletes a webhook with its deliveries; what is under way may still arrive.',
    answers: { 200: { description: 'The webhook as it was.', schema: webhookJson } },
    errors,
  },
  rotate: {
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Get a new secret',
    description: `Gives the webhook a new secret. For 24 hours the old one signs, too. ${scope}`,
    answers: { 200: { description: 'The webhook, with its new secret.', schema: webhookWithSecretJson } },
    errors,
  },
  test: {
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event',
    description: 'Sends an event of type `webhook.test`, once, whatever the types and the state of the webhook.',
    answers: { 202: { description: 'The delivery, on its way.', schema: deliveryJson } },
    errors,
  },
  deliveries: {
    operationId: 'listDeliveries',
    tag: 'Webhooks',
    summary: 'List deliveries',
    description:
      'The deliveries of a webhook, oldest first. Finished ones are kept for 30 days. Where scopes are in use, those of ' +
      'events of contracts need `contracts:read`.',
    query: ['deliveryState', 'limit', 'after'],
    answers: { 200: { description: 'The deliveries.', schema: z.array(deliveryJson), headers: ['Link'] } },
    errors,
  },
  redeliver: {
    operationId: 'redeliver',
    tag: 'Webhooks',
    summary: 'Send a delivery again',
    description:
      'Sends it at once, with the same id and body, whatever the state of the webhook. One that had ended gets one more ' +
      'attempt. Where scopes are in use, an event of a contract needs `contracts:read`.',
    answers: { 202: { description: 'The delivery, on its way.', schema: deliveryJson } },
    errors: [...errors, 'NOT_FOUND'],
  },
} satisfies Record<string, RouteDocs>;
