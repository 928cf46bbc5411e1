import { sql } from 'kysely';
import { z } from 'zod';
import { authorize, type Context } from '../context.ts';
import { NotFound } from '../errors.ts';
import type { Event } from '../events/event.ts';
import { eventWithFewVehicles, visibleTo } from '../events/events.ts';
import { announceEvents, type By, byCaller, eventBy } from '../events/record-events.ts';
import { jsonTable } from '../sql/json-table.ts';
import type { NodeSource } from '../sql/node.ts';
import { type Page, pageSql, type Slice, sliceOf } from '../sql/page.ts';
import { prepare } from '../sql/prepare.ts';
import { isoSql, json, jsonObject } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { type Delivery, type DeliveryState, delivery } from './delivery.ts';
import { PAYLOAD_VEHICLES, payloadOf } from './payload.ts';
import { getWebhook, isOfContract, lockWebhook, needContracts } from './webhooks.ts';

/**
 * A page of a webhook's deliveries, oldest first: of the events that the caller may read; without what was sent where that is
 * not wanted. Throws WebhookNotFound.
 */
export async function listDeliveries(
  ctx: Context,
  input: { webhookId: string; page: Page; state?: DeliveryState | null | undefined; requests?: boolean },
): Promise<Slice<Delivery>> {
  const webhook = await getWebhook(ctx, { id: input.webhookId });
  const { within, tail } = pageSql(input.page, 'd');
  const rows = await execute<Row>(
    onPrimary(ctx),
    sql`select ${input.requests === false ? withoutEvent : columns} from ${source}
        where d.webhook_id = ${webhook.id} ${visibleTo(ctx)} ${inState(input.state)} ${within} ${tail}`,
  );
  return sliceOf(rows.map(toDelivery), input.page);
}

/** How many deliveries listDeliveries has in all. */
export async function countDeliveries(
  ctx: Context,
  input: { webhookId: string; state?: DeliveryState | null | undefined },
): Promise<number> {
  const webhook = await getWebhook(ctx, { id: input.webhookId });
  const [row] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`select count(*)::int as count from ${source}
        where d.webhook_id = ${webhook.id} ${visibleTo(ctx)} ${inState(input.state)}`,
  );
  return row?.count ?? 0;
}

/** Sends a webhook an event of type webhook.test, whatever its state and types: one attempt. Throws WebhookNotFound. */
export async function testWebhook(ctx: Context, input: { id: string }): Promise<Delivery> {
  const company = authorize(ctx, 'fleets:write');
  return ctx.em.transactional(async () => {
    const webhook = await lockWebhook(ctx, company, input.id);
    const data = JSON.stringify({ webhookId: webhook.id });
    const [row] = await insertTest(onPrimary(ctx), { ...byCaller(ctx), company, webhook_id: webhook.id, data });
    announceEvents(ctx);
    ctx.services.changes.announce('due', 'delivery');
    return deliveryOf(ctx, { company, webhook_id: webhook.id, id: row?.id ?? '' });
  });
}

/**
 * Sends a delivery again, at once and whatever the state of its webhook. One that is still under way is brought
 * forward; one that has ended gets one more attempt. Throws WebhookNotFound, NotFound and Forbidden.
 */
export async function redeliver(ctx: Context, input: { webhookId: string; deliveryId: string }): Promise<Delivery> {
  const company = authorize(ctx, 'fleets:write');
  return ctx.em.transactional(async () => {
    const webhook = await lockWebhook(ctx, company, input.webhookId);
    const place = { company, webhook_id: webhook.id, id: input.deliveryId };
    const { type } = await deliveryOf(ctx, place);
    if (isOfContract(type)) needContracts(ctx);
    await bringForward(onPrimary(ctx), { ...place, now: ctx.now() });
    ctx.services.changes.announce('due', 'delivery');
    return deliveryOf(ctx, place);
  });
}

async function deliveryOf(ctx: Context, place: Place): Promise<Delivery> {
  const [row] = isId(place.id) ? await readOne(onPrimary(ctx), place) : [];
  if (!row) throw new NotFound('There is no delivery with this id.');
  return toDelivery(row);
}

const inState = (state?: DeliveryState | null) => (state ? sql`and d.state = ${state}` : sql``);

const sent = delivery
  .omit({ request: true })
  .extend({ url: z.string().nullable(), headers: z.record(z.string(), z.string()).nullable() });

interface Row {
  json: z.output<typeof sent>;
  /** null: not read, and so is what was sent. */
  event: Event | null;
}

const deliveryJson = jsonTable('delivery', 'd', sent, {
  type: json.code('e.type'),
  nextAttemptAt: json.orNull({
    sql: `case when not d.claimed and (d.asked or w.state = 'ACTIVE') then ${isoSql('d.due_at')} end`,
    bare: true,
  }),
});
const source = sql`delivery d join event e on e.company = d.company and e.id = d.event_id
  join webhook w on w.company = d.company and w.id = d.webhook_id`;
const object = jsonObject(deliveryJson);
const event = eventWithFewVehicles(PAYLOAD_VEHICLES);
const columns = sql`${object} as json, ${event} as event`;
const withoutEvent = sql`${object} as json, null as event`;

export const deliveryNode: NodeSource = {
  alias: 'd',
  scope: 'fleets:read',
  from: (ctx, company) => sql`${source} where d.company = ${company} and w.company = ${company} ${visibleTo(ctx)}`,
  json: () => object,
  more: ({ requests }) => (requests ? event : sql`null::json`),
  read: (json, more) => toDelivery({ json, event: more } as Row),
};

/** Which delivery. */
interface Place {
  company: string;
  webhook_id: string;
  id: string;
}

const readOne = prepare((p: Place) =>
  db
    .selectFrom('delivery as d')
    .innerJoin('event as e', 'e.id', 'd.event_id')
    .innerJoin('webhook as w', 'w.id', 'd.webhook_id')
    .select([object.$castTo<Row['json']>().as('json'), event.$castTo<Event>().as('event')])
    .where('d.company', '=', p.company)
    .where('d.id', '=', p.id)
    .where('d.webhook_id', '=', p.webhook_id)
    .where('e.company', '=', p.company)
    .where('w.company', '=', p.company),
);

const insertTest = prepare((p: By & { company: string; webhook_id: string; data: string }) =>
  db
    .with('test', (q) =>
      q
        .insertInto('event')
        .values({ ...eventBy('webhook.test', p), company: p.company, data: p.data })
        .returning('id'),
    )
    .insertInto('delivery')
    .columns(['company', 'webhook_id', 'event_id', 'once', 'asked', 'due_at', 'created_at'])
    .expression((q) =>
      q
        .selectFrom('test')
        .select(({ lit }) => [
          sql<string>`${p.company}::text`.as('company'),
          sql<string>`${p.webhook_id}::uuid`.as('webhook_id'),
          'test.id',
          lit(true).as('once'),
          lit(true).as('asked'),
          sql<string>`${p.at}::timestamptz`.as('due_at'),
          sql<string>`${p.at}::timestamptz`.as('created_at'),
        ]),
    )
    .returning('id'),
);

const bringForward = prepare((p: Place & { now: Date }) =>
  db
    .updateTable('delivery')
    .set({
      due_at: p.now,
      asked: true,
      once: ({ eb, or, ref }) => or([ref('once'), eb('state', '<>', sql.lit('PENDING'))]).$castTo<boolean>(),
      state: 'PENDING',
    })
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('webhook_id', '=', p.webhook_id)
    .where('claimed', '=', sql.lit(false)),
);

/** The body follows from the event: it is the same on each attempt. */
function toDelivery({ json: { url, headers, ...others }, event }: Row): Delivery {
  const wasSent = event !== null && url !== null && headers !== null;
  return { ...others, request: wasSent ? { url, headers, body: payloadOf(event) } : null };
}
