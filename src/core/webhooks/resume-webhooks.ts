import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { holdPublishing } from '../events/publish-events.ts';
import { wanted } from '../events/wanted.ts';
import { execute, onPrimary } from '../sql/send.ts';

/** Rows of a step: few, since pausing the webhook waits for one, and at the end everybody's publishing. */
const ROWS_AT_ONCE = 1000;

/** Webhooks that are active again and for which something has waited, the longest waiting first. */
export async function webhooksToResume(ctx: Context): Promise<string[]> {
  const rows = await execute<{ id: string }>(
    onPrimary(ctx),
    sql`select id from webhook where due_at <= ${ctx.now()}::timestamptz order by due_at limit 100`,
  );
  return rows.map(({ id }) => id);
}

/**
 * Makes some of what has waited for a webhook due, in a transaction of its own; gives whether there may be more. First
 * come attempts that failed before, then events, in the order of the log. Whoever pauses or deletes it, or dies, does so
 * between two steps: the webhook's row says how far it is.
 */
export async function resumeStep(ctx: Context, webhookId: string): Promise<boolean> {
  // Events that are being published now are in no snapshot yet: only who holds publishing knows that there are no more.
  return (await step(ctx, webhookId, { last: false })) || step(ctx, webhookId, { last: true });
}

async function step(ctx: Context, webhookId: string, { last }: { last: boolean }): Promise<boolean> {
  return ctx.em.transactional(async () => {
    if (last) await holdPublishing(ctx);
    const [webhook] = await execute(
      onPrimary(ctx),
      sql`select from webhook where id = ${webhookId} and due_at is not null for no key update`,
    );
    if (!webhook) return false;
    const forwarded = await bringForward(ctx, webhookId);
    const looked = forwarded < ROWS_AT_ONCE ? await deliverWaiting(ctx, webhookId) : 0;
    if (forwarded + looked > 0) ctx.services.changes.announce('due', 'delivery');
    const more = forwarded === ROWS_AT_ONCE || looked === ROWS_AT_ONCE;
    if (last && !more)
      await execute(onPrimary(ctx), sql`update webhook set held_from = null, due_at = null where id = ${webhookId}`);
    return more;
  });
}

/** Makes attempts due now that would have come later; not those that have failed since the webhook is active again. */
async function bringForward(ctx: Context, webhookId: string): Promise<number> {
  const rows = await execute(
    onPrimary(ctx),
    sql`with later as (
          select d.id from delivery d join webhook w on w.id = d.webhook_id
          where d.webhook_id = ${webhookId} and d.due_at > ${ctx.now()}::timestamptz and d.attempted_at < w.due_at and not d.claimed
          order by d.due_at limit ${ROWS_AT_ONCE} for update of d skip locked
        )
        update delivery d set due_at = ${ctx.now()}::timestamptz from later where d.id = later.id returning 1`,
  );
  return rows.length;
}

/** Looks at the next events that wait, and makes deliveries of those that the webhook wants; gives how many it looked at. */
async function deliverWaiting(ctx: Context, webhookId: string): Promise<number> {
  const [looked] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`with next as materialized (
          select e.id, e.type, e.position from webhook w join event e on e.company = w.company and e.position > w.held_from
          where w.id = ${webhookId} order by e.position limit ${ROWS_AT_ONCE}
        ), delivered as (
          insert into delivery (company, webhook_id, event_id, due_at, created_at)
          select w.company, w.id, e.id, ${ctx.now()}::timestamptz, ${ctx.now()}::timestamptz
          from next e join webhook w on w.id = ${webhookId} where ${wanted}
          order by e.position on conflict do nothing
        ), moved as (
          update webhook set held_from = (select max(position) from next)
          where id = ${webhookId} and exists (select from next)
        )
        select count(*)::int as count from next`,
  );
  return looked?.count ?? 0;
}
