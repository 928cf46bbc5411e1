import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/sql';
import { z } from 'zod';
import { Delivery as DeliveryEntity, deliveryStates, Event as EventEntity } from '../../entities/event.ts';
import { scheduleNow } from '../companies/schedule.ts';
import { authorize, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { NotFound } from '../errors.ts';
import { eventTypeField, eventTypes } from '../events/event-data.ts';
import { CONTRACT_EVENTS_ACCESS, type Event, eventTextSql } from '../events/events.ts';
import { recordEvents } from '../events/record-events.ts';
import { exampleIds, field, timeField, timeOrNullField, uuidField } from '../fields.ts';
import type { PageArguments } from '../sql/page.ts';
import { readItemsPage, readOneRow } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoTimeSql, jsonMembersOf, jsonObjectSql, jsonSql } from '../sql/selection.ts';
import { newId } from '../sql/sql.ts';
import { deliveryErrors, MOST_PAYLOAD_VEHICLES, webhookPayload } from './sender.ts';
import { getWebhook, isContractEventType, lockWebhook, requireContractsScope } from './webhooks.ts';

export const deliveryStateSchema = z.enum(deliveryStates);
export type DeliveryState = z.output<typeof deliveryStateSchema>;

export const deliveryErrorCodeSchema = z.enum(Object.keys(deliveryErrors) as (keyof typeof deliveryErrors)[]);

const eventId = exampleIds.event;

export const deliveryRequestSchema = z
  .object({
    url: z.string().describe('The URL that the delivery’s request was sent to.'),
    headers: z.record(z.string(), z.string()).describe('The headers of the delivery’s request, with the signature.'),
    body: z.string().describe('The body of the delivery’s request, the event as JSON: the same on each attempt.'),
  })
  .describe('The HTTP request of an attempt to deliver an event to a webhook.');

export const deliverySchema = z
  .object({
    id: uuidField('The id of the delivery, a UUID.', '019aa1b2-af60-7172-9d9e-3f4a5b6c7d8e'),
    webhookId: uuidField('The id of the webhook.', exampleIds.webhook),
    eventId: field(z.uuid(), 'The id of the delivered event, which is also the header `webhook-id`.', eventId),
    type: field(z.enum(eventTypes), 'The type of the delivered event.', 'eligibility.changed'),
    state: field(deliveryStateSchema, 'The state of the delivery: `PENDING` until it succeeds or fails.', 'SUCCEEDED'),
    attempts: field(z.int(), 'The number of attempts to deliver the event so far.', 1),
    nextAttemptAt: timeOrNullField(
      'The time of the next attempt to deliver the event; null if there is none, or none before the webhook is active again.',
      null,
    ),
    createdAt: timeField('The time at which the delivery was created.'),
    attemptedAt: timeOrNullField(
      'The time of the last attempt to deliver the event; null before the first.',
      '2026-11-20T08:00:00.000Z',
    ),
    request: field(deliveryRequestSchema.nullable(), 'The last HTTP request of the delivery; null before the first.', {
      url: 'https://example.com/fleet-events',
      headers: { 'webhook-id': eventId },
      body: '{}',
    }),
    status: field(z.int().nullable(), 'The HTTP status of the receiver’s last answer; null without one.', 204),
    answer: field(z.string().nullable(), 'The first 1,000 characters of the receiver’s last answer, or null.', ''),
    error: field(
      z.string().nullable(),
      'The reason why the last delivery attempt got no answer; null if it got one.',
      null,
    ),
    errorCode: field(
      deliveryErrorCodeSchema.nullable(),
      'The code of the reason why the last delivery attempt got no answer; null if it got one.',
      null,
    ),
    durationMs: field(z.int().nullable(), 'The milliseconds that the last delivery attempt took; null before one.', 87),
  })
  .meta({
    id: 'Delivery',
    description: 'The delivery of one event to one webhook, with the request and the answer of its last attempt.',
  });
type Delivery = z.output<typeof deliverySchema>;

/** A page of a webhook's deliveries, oldest first: of the events that the caller may read. Throws WebhookNotFound. */
export async function listDeliveries(ctx: Context, input: DeliveriesInput) {
  const company = authorize(ctx, 'fleets:read');
  const { id: webhookId } = await getWebhook(ctx, { id: input.webhookId });
  const filter = { webhookId, state: input.state };
  const { items, ...rest } = await readItemsPage<Row>(ctx, deliveryResource, { company, page: input.page, filter });
  return { ...rest, items: items.map(toDelivery) };
}
type DeliveriesInput = { webhookId: string; page: PageArguments; state?: DeliveryState | null | undefined };

/** Sends a webhook an event of type webhook.test, whatever its state and types: one attempt. Throws WebhookNotFound. */
export async function testWebhook(ctx: Context, input: { id: string }): Promise<Delivery> {
  const company = authorize(ctx, 'fleets:write');
  return transaction(ctx, async (em) => {
    const webhook = await lockWebhook(em, company, input.id);
    const [eventId = ''] = await recordEvents(ctx, [
      { type: 'webhook.test', company, data: { webhookId: webhook.id } },
    ]);
    const event = em.getReference(EventEntity, [company, eventId]);
    const now = ctx.now();
    const id = newId();
    em.create(DeliveryEntity, { company, id, webhook, event, once: true, asked: true, dueAt: now, createdAt: now });
    return sentSoon(ctx, em, { company, webhookId: webhook.id, id });
  });
}

/** Sends a delivery at once: a pending one earlier, an ended one once more. Throws WebhookNotFound, NotFound and Forbidden. */
export async function redeliver(ctx: Context, input: { webhookId: string; deliveryId: string }): Promise<Delivery> {
  const company = authorize(ctx, 'fleets:write');
  return transaction(ctx, async (em) => {
    const webhook = await lockWebhook(em, company, input.webhookId);
    const key = { company, webhookId: webhook.id, id: input.deliveryId };
    const { type } = await readDelivery(ctx, key);
    if (isContractEventType(type)) requireContractsScope(ctx);
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    const delivery = await em.findOneOrFail(DeliveryEntity, { company, id: key.id }, { lockMode });
    const { claimed, dueAt } = delivery;
    const isPending = delivery.state === 'PENDING';
    const now = ctx.now();
    // The claim of a dead process ends by itself.
    const isDue = claimed || (isPending && dueAt && dueAt <= now);
    const once = delivery.once || !isPending;
    em.assign(delivery, { dueAt: isDue ? dueAt : now, asked: true, once, state: 'PENDING' });
    return sentSoon(ctx, em, key);
  });
}

type DeliveryKey = Record<'company' | 'webhookId' | 'id', string>;

async function sentSoon(ctx: Context, em: EntityManager, key: DeliveryKey): Promise<Delivery> {
  await em.flush();
  await scheduleNow(ctx, 'delivery', key.company);
  return readDelivery(ctx, key);
}

const readDelivery = async (ctx: Context, { company, ...by }: DeliveryKey): Promise<Delivery> =>
  toDelivery(await readOneRow<Row>(ctx, anyRows, by, { company }));

/** A delivery with the event in place of the body, which is made of it. */
type Row = Omit<Delivery, 'request'> & {
  request: { url: string; headers: Record<string, string>; body: Event } | null;
};

const toDelivery = ({ request, ...rest }: Row): Delivery => ({
  ...rest,
  request: request && { ...request, body: webhookPayload(request.body) },
});

// Subqueries of the rows of a page: joins would read events and webhooks of all deliveries, to sort them.
const EVENT = 'event e where e.company = $company and e.id = d.event_id';
const TYPE = `(select e.type from ${EVENT})`;
const WEBHOOK = 'webhook dw where dw.company = $company and dw.id = d.webhook_id';

const errorCode = Object.entries(deliveryErrors).map(
  ([code, text]) => `when starts_with(d.error, '${text}') then '${code}'`,
);

const event = { sql: `(select ${eventTextSql(MOST_PAYLOAD_VEHICLES)} from ${EVENT})` };
const request = { url: jsonSql.text('d.url'), headers: jsonSql.value('d.headers') };
const HAS_NO_REQUEST = 'd.url is null or d.headers is null';

const deliveryJson = jsonMembersOf('delivery', 'd', deliverySchema, {
  type: jsonSql.code(TYPE),
  errorCode: jsonSql.orNull({
    sql: `case ${errorCode.join(' ')} when d.error is not null then 'REQUEST_FAILED' end`,
    bare: true,
  }),
  nextAttemptAt: jsonSql.orNull({
    sql: `case when not d.claimed and (d.asked or exists (select from ${WEBHOOK} and dw.state = 'ACTIVE'))
      then ${isoTimeSql('d.due_at')} end`,
    bare: true,
  }),
  request: { sql: `case when ${HAS_NO_REQUEST} then 'null' else ${jsonObjectSql({ ...request, body: event })} end` },
});

const anyRows: Resource = {
  table: 'delivery d',
  id: 'd.id',
  members: deliveryJson,
  fields: {
    type: eventTypeField(TYPE),
    request: {
      kind: 'object',
      unless: HAS_NO_REQUEST,
      members: request,
      fields: { body: { kind: 'value', value: event, make: webhookPayload } },
    },
  },
  filter: z.object({ webhookId: z.string().optional(), state: deliveryStateSchema.nullish() }),
  conditions: {
    id: ['d.id = ?::uuid', idOrNull],
    webhookId: ['d.webhook_id = ?::uuid', idOrNull],
    state: ['d.state = ?'],
  },
  leading: { webhookId: 'd.webhook_id' },
  primary: true,
  missing: () => new NotFound('There is no delivery with this id.'),
};

export const deliveryResource: Resource = {
  ...anyRows,
  lacking: {
    scope: CONTRACT_EVENTS_ACCESS.scope,
    where: `exists (select from ${EVENT} and ${CONTRACT_EVENTS_ACCESS.where})`,
  },
};
