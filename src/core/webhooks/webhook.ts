import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { webhookStates } from '../../entities/event.ts';
import type { CommandDescription } from '../context.ts';
import { ValidationFailed } from '../errors.ts';
import { eventTypeSchema, eventTypes } from '../events/event-data.ts';
import { endOfLogExpression } from '../events/event-log.ts';
import { MOST_EVENT_TYPES } from '../events/record-events.ts';
import { describeInputFields, exampleIds, field, timeField, timeOrNullField, uuidField } from '../fields.ts';
import { idSchema, listSchema, storableText } from '../input.ts';
import { db, prepare, type RowKey } from '../sql/sql.ts';

/** Types for subscription; a test goes to its webhook only. */
export const subscribableEventTypes = eventTypes.filter((type) => type !== 'webhook.test');

export const webhookStateSchema = z.enum(webhookStates);

/** The reasons why the gateway halts a webhook: one for each state. */
export const haltReasonCodes = { PAUSED: 'ATTEMPTS_EXHAUSTED', DISABLED: 'RECEIVER_GONE' } as const;
export const webhookReasonCodeSchema = z.enum(Object.values(haltReasonCodes));

export const webhookSchema = z
  .object({
    id: uuidField('The id of the webhook, a UUID: the same in GraphQL and REST.', exampleIds.webhook),
    url: field(
      z.url(),
      'The URL that the webhook’s events are posted to: https, on the public internet, without credentials, at most 2,048 characters.',
      'https://example.com/fleet-events',
    ),
    description: field(z.string(), 'A note that tells the webhook from others: at most 255 characters.', 'Dispatch'),
    types: field(
      z.array(z.enum(subscribableEventTypes)),
      'The types of events that the webhook receives; empty for all.',
      ['eligibility.changed'],
    ),
    state: field(
      webhookStateSchema,
      'The state of the webhook: `ACTIVE` if its events are sent, `PAUSED` or `DISABLED` if they wait.',
      'ACTIVE',
    ),
    reason: field(z.string().nullable(), 'The reason if the gateway paused or disabled the webhook; else null.', null),
    reasonCode: field(
      webhookReasonCodeSchema.nullable(),
      'The code of the reason if the gateway paused or disabled the webhook; else null.',
      null,
    ),
    oldSecretUntil: timeOrNullField('The time until which the webhook’s old secret signs as well, or null.', null),
    createdAt: timeField('The time at which the webhook was created.'),
    updatedAt: timeField('The time at which the webhook was last changed.'),
  })
  .meta({
    id: 'Webhook',
    description: 'An address of the company to which its events are posted, signed as Standard Webhooks specifies.',
  });
export type Webhook = z.output<typeof webhookSchema>;

/** With the signing secret, which is shown this once. */
export const webhookWithSecretSchema = z
  .object({
    webhook: webhookSchema.describe('The webhook with its settings, without its secret.'),
    secret: field(
      z.string(),
      'The secret that verifies the webhook’s signatures, as Standard Webhooks specifies. It is shown this once; a repetition of the request with the same `Idempotency-Key` shows the one that is valid then.',
      'whsec_8Zl3sXyKzQmYp1tVb0cN4dRfUe6hWgJk5oLi7aMxTqA=',
    ),
  })
  .describe('A webhook together with its new secret.');
export type WebhookWithSecret = z.output<typeof webhookWithSecretSchema>;

const url = z.string();
const description = storableText(z.string().trim().max(255, 'must have at most 255 characters'));
/** GraphQL offers all types, by other names than REST's. */
const type = z.enum(subscribableEventTypes, {
  error: ({ input }) =>
    eventTypeSchema.safeParse(input).success
      ? 'cannot be subscribed to: webhooks get neither test events nor those of unknown types'
      : undefined,
});
const types = listSchema(type, MOST_EVENT_TYPES);

export const createWebhookInput = z
  .object(describeInputFields(webhookSchema, { url, description: description.nullish(), types: types.nullish() }))
  .describe('The fields of a new webhook: the address and the types of its events.');

const state = field(
  z.enum(['ACTIVE', 'PAUSED']),
  'The new state of the webhook: `ACTIVE` to send its events, `PAUSED` to keep them waiting. Only the gateway sets `DISABLED`.',
  'ACTIVE',
);
export const updateWebhookInput = z
  .object({
    id: idSchema.describe('The id of the webhook to change.'),
    ...z.object({ ...describeInputFields(webhookSchema, { url, description, types }), state }).partial().shape,
  })
  .describe('The fields of a webhook to change: at least one beside `id`. Fields that are left out stay as they are.');

const contractEvents =
  'Where scopes are in use, it also needs `contracts:read` if events of contracts go there, or wait to be sent there.';

export const webhookCommands = {
  createWebhook: {
    description: `Creates a webhook: from now on, the company’s events are posted to its address, each at least once, signed as Standard Webhooks specifies. Only a 2xx answer is success; a delivery that fails is tried ten times within three and a half days. At most 100 webhooks. ${contractEvents} A request that repeats an \`Idempotency-Key\` fails with \`WEBHOOK_NOT_FOUND\` once the webhook is deleted.`,
    scope: 'fleets:write',
    errors: ['VALIDATION_FAILED', 'WEBHOOK_NOT_FOUND'],
    example: { url: 'https://example.com/fleet-events', types: ['eligibility.changed'] },
  },
  updateWebhook: {
    description: `Changes the fields of a webhook that are sent, at least one. With the \`state\` \`PAUSED\` its events wait, \`ACTIVE\` sends those that have waited. ${contractEvents}`,
    scope: 'fleets:write',
    errors: ['WEBHOOK_NOT_FOUND', 'VALIDATION_FAILED'],
    example: { id: exampleIds.webhook, state: 'PAUSED' },
  },
  deleteWebhook: {
    description: 'Deletes a webhook with its deliveries. One that is under way may still arrive.',
    scope: 'fleets:write',
    errors: ['WEBHOOK_NOT_FOUND'],
    example: { id: exampleIds.webhook },
  },
  rotateWebhookSecret: {
    description: `Gives a webhook a new secret. For 24 hours, deliveries are signed with the old one as well. ${contractEvents}`,
    scope: 'fleets:write',
    errors: ['WEBHOOK_NOT_FOUND'],
    example: { id: exampleIds.webhook },
  },
  testWebhook: {
    description: 'Sends a test event to a webhook, once, regardless of its types and its state.',
    scope: 'fleets:write',
    errors: ['WEBHOOK_NOT_FOUND'],
    example: { id: exampleIds.webhook },
  },
  redeliver: {
    description:
      'Sends a delivery again, at once, with the same id and body, in any state of the webhook. A finished one gets one more ' +
      'attempt. Where scopes are in use, an event of a contract needs `contracts:read`.',
    scope: 'fleets:write',
    errors: ['WEBHOOK_NOT_FOUND', 'NOT_FOUND'],
    example: { webhookId: exampleIds.webhook, deliveryId: exampleIds.delivery },
  },
} satisfies Record<string, CommandDescription>;

const LONGEST = 2048;

/** A webhook's address in its normal form; throws ValidationFailed. The name is resolved later, for each connection. */
export function readWebhookUrl(value: string, settings: { loopback: boolean }): string {
  const url = URL.parse(value);
  const fault = url ? webhookUrlFault(url, settings) : 'must be a URL such as https://example.com/fleet-events';
  if (!url || fault) throw new ValidationFailed([{ path: 'url', code: 'INVALID_URL', message: fault ?? '' }]);
  url.hash = '';
  return url.href;
}

/** The fault of the URL itself, or null. */
export function webhookUrlFault(url: URL, { loopback }: { loopback: boolean }): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const literal = isIP(host) !== 0;
  const local =
    host === 'localhost' ||
    (literal && isReachableAddress(host, { loopback: true }) && !isReachableAddress(host, { loopback: false }));
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback && local)) return 'must begin with https://';
  if (url.username || url.password) return 'must hold no credentials; the signature says who is sending';
  if (url.href.length > LONGEST) return `must have at most ${LONGEST} characters`;
  if (literal ? !isReachableAddress(host, { loopback }) : local && !loopback)
    return 'must be an address of the public internet';
  return null;
}

type Halt = RowKey & { state: 'PAUSED' | 'DISABLED'; reason: string | null; now: Date };

/** Halts a webhook, while the transaction holds publishing; stores the position from which its events wait. */
export const haltWebhook = prepare(({ company, id, state, reason, now }: Halt) =>
  db
    .updateTable('webhook')
    .set(({ fn, ref }) => ({
      ...{ state, reason, due_at: null, updated_at: now },
      held_from: fn.coalesce(ref('held_from'), endOfLogExpression(company)),
    }))
    .where('company', '=', company)
    .where('id', '=', id)
    .where('state', '=', 'ACTIVE'),
);

/** Azure's own services for machines inside it. */
const INSIDE = new Set(['168.63.129.16']);
/** The IPv6 internet; other addresses are reserved, local, or IPv4 in disguise. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Whether an address is on the public internet; with `loopback`, this machine itself counts too. */
export function isReachableAddress(address: string, { loopback }: { loopback: boolean }): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range === 'loopback') return loopback;
  if (range !== 'unicast' || INSIDE.has(address)) return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
}
