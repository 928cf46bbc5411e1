import { sql } from 'kysely';
import { announce } from '../changes.ts';
import type { Context } from '../context.ts';
import { write } from '../sql.ts';

// Both are called in a transaction that holds publishing: while events are published, states stand still.

/** Sends a webhook nothing more, and remembers from where its events wait for it. */
export async function haltWebhook(
  ctx: Context,
  webhookId: string,
  state: 'PAUSED' | 'DISABLED',
  reason: string | null,
): Promise<void> {
  await write(
    ctx,
    sql`update webhook set state = ${state}, reason = ${reason}, updated_at = ${ctx.now()}::timestamptz,
          held_from = (select coalesce(max(position), 0) from event where position is not null)
        where id = ${webhookId} and state = 'ACTIVE'`,
  );
  await write(
    ctx,
    sql`update delivery set due_at = null where webhook_id = ${webhookId} and due_at is not null and not claimed and not once`,
  );
}

/** Sends a webhook what has waited for it, and what is to come. */
export async function resumeWebhook(ctx: Context, webhookId: string): Promise<void> {
  await write(
    ctx,
    sql`insert into delivery (webhook_id, event_id, due_at, created_at)
        select w.id, e.id, ${ctx.now()}::timestamptz, ${ctx.now()}::timestamptz
        from webhook w join event e on e.company = w.company and e.position > w.held_from
        where w.id = ${webhookId} and w.state <> 'ACTIVE' and e.type <> 'webhook.test'
          and (w.types = '{}' or e.type = any(w.types))
        order by e.position on conflict do nothing`,
  );
  await write(
    ctx,
    sql`update delivery set due_at = ${ctx.now()}::timestamptz
        where webhook_id = ${webhookId} and state = 'PENDING' and due_at is null`,
  );
  await write(
    ctx,
    sql`update webhook set state = 'ACTIVE', reason = null, held_from = null, updated_at = ${ctx.now()}::timestamptz
        where id = ${webhookId}`,
  );
  await write(ctx, announce.due('delivery'));
}
