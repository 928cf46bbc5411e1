import { sql } from 'kysely';
import { z } from 'zod';
import { authorize, type Context } from '../context.ts';
import { NotFound } from '../errors.ts';
import type { Event } from '../events/event.ts';
import { eventWithFewVehicles, visibleTo } from '../events/events.ts';
import { announceEvents } from '../events/record-events.ts';
import { jsonTable } from '../sql/json-table.ts';
import { type Page, pageSql, type Slice, sliceOf } from '../sql/page.ts';
import { isoSql, json, jsonObject } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
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
  const { within, tail } = pageSql(input.page, sql`d.id`);
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
    const [row] = await execute<{ id: string }>(
      onPrimary(ctx),
      sql`with test as (
            insert into event (type, company, actor, request_id, at, data)
            values ('webhook.test', ${company}, ${ctx.caller?.subject || 'anonymous'}, ${ctx.requestId},
              ${ctx.now()}::timestamptz, ${data}::jsonb)
            returning id
          )
          insert into delivery (webhook_id, event_id, once, asked, due_at, created_at)
          select ${webhook.id}::uuid, test.id, true, true, ${ctx.now()}::timestamptz, ${ctx.now()}::timestamptz from test
          returning id`,
    );
    announceEvents(ctx);
    ctx.services.changes.announce('due', 'delivery');
    return deliveryOf(ctx, webhook.id, row?.id ?? '');
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
    const { id, type } = await deliveryOf(ctx, webhook.id, input.deliveryId);
    if (isOfContract(type)) needContracts(ctx);
    await execute(
      onPrimary(ctx),
      sql`update delivery set due_at = ${ctx.now()}::timestamptz, asked = true, once = once or state <> 'PENDING',
            state = 'PENDING'
          where id = ${id} and not claimed`,
    );
    ctx.services.changes.announce('due', 'delivery');
    return deliveryOf(ctx, webhook.id, id);
  });
}

async function deliveryOf(ctx: Context, webhookId: string, deliveryId: string): Promise<Delivery> {
  const [row] = isId(deliveryId)
    ? await execute<Row>(
        onPrimary(ctx),
        sql`select ${columns} from ${source} where d.id = ${deliveryId} and d.webhook_id = ${webhookId}`,
      )
    : [];
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
const source = sql`delivery d join event e on e.id = d.event_id join webhook w on w.id = d.webhook_id`;
const columns = sql`${jsonObject(deliveryJson)} as json, ${eventWithFewVehicles(PAYLOAD_VEHICLES)} as event`;
const withoutEvent = sql`${jsonObject(deliveryJson)} as json, null as event`;

/** The body follows from the event: it is the same on each attempt. */
function toDelivery({ json: { url, headers, ...others }, event }: Row): Delivery {
  const wasSent = event !== null && url !== null && headers !== null;
  return { ...others, request: wasSent ? { url, headers, body: payloadOf(event) } : null };
}
