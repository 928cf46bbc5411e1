import { z } from 'zod';
import { webhookStates } from '../../entities/webhook.ts';
import { eventTypes, MOST_TYPES } from '../events/record-events.ts';
import { asIn, field } from '../fields.ts';
import { id, listOf, mustBe, storable } from '../input.ts';

/** Types that can be subscribed to; a test is sent to whom it is for. */
export const subscribableTypes = eventTypes.filter((type) => type !== 'webhook.test');

export const webhookState = z.enum(webhookStates);
export type WebhookState = z.output<typeof webhookState>;

/** An address that events are sent to, as both interfaces show it. Times are ISO 8601 UTC. */
export const webhook = z
  .object({
    id: field(z.uuid(), 'Identifies the webhook: the same in both interfaces.', '019aa1b2-8d4e-7f50-9b7c-1d2e3f4a5b6c'),
    url: field(
      z.url(),
      'Where events are posted to: https, on the public internet, without credentials.',
      'https://example.com/fleet-events',
    ),
    description: field(z.string(), 'Whatever helps you to tell it from others: at most 255 characters.', 'Dispatch'),
    types: field(z.array(z.enum(subscribableTypes)), 'The types of events it gets; empty for all.', [
      'eligibility.changed',
    ]),
    state: field(
      webhookState,
      '`PAUSED`: its events wait for it. `DISABLED`: they do, too, since the receiver answered 410. `ACTIVE` sends them.',
      'ACTIVE',
    ),
    reason: field(z.string().nullable(), 'Why it was paused or disabled by itself.', null),
    oldSecretUntil: field(z.iso.datetime().nullable(), 'Until then, the secret before this one signs, too.', null),
    createdAt: field(z.iso.datetime(), 'When it was created.', '2026-11-20T08:00:00.000Z'),
    updatedAt: field(z.iso.datetime(), 'When it last changed.', '2026-11-20T08:00:00.000Z'),
  })
  .meta({
    id: 'Webhook',
    description: 'An address of yours that events are posted to, signed as Standard Webhooks says.',
  });
export type Webhook = z.output<typeof webhook>;

/** With the signing secret, which is shown this once. */
export const webhookWithSecret = z
  .object({
    webhook: webhook.describe('The webhook.'),
    secret: field(
      z.string(),
      'Verifies signatures as Standard Webhooks says. Shown this once; a repetition with the same Idempotency-Key has the secret of that moment.',
      'whsec_8Zl3sXyKzQmYp1tVb0cN4dRfUe6hWgJk5oLi7aMxTqA=',
    ),
  })
  .describe('A webhook and its new secret.');
export type WebhookWithSecret = z.output<typeof webhookWithSecret>;

const url = z.string(mustBe('a string'));
const description = storable(z.string(mustBe('a string')).trim().max(255, 'is at most 255 characters'));
const types = listOf(
  z.enum(subscribableTypes, `must be one of ${subscribableTypes.join(', ')}`),
  MOST_TYPES,
  mustBe('a list of event types'),
);

export const createWebhookInput = z
  .object(asIn(webhook, { url, description: description.nullish(), types: types.nullish() }))
  .describe('A new webhook.');

const changeable = { url, description, types, state: z.enum(['ACTIVE', 'PAUSED'], 'is ACTIVE or PAUSED') };
export const updateWebhookInput = z
  .object({ id: id.describe('Which webhook.'), ...z.object(asIn(webhook, changeable)).partial().shape })
  .describe('What to change of a webhook: at least one field beside its id.');
