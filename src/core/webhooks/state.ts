import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { execute, onPrimary } from '../sql/send.ts';

/**
 * Sends a webhook nothing more, and remembers from where its events wait for it. To be called in a transaction that holds
 * publishing: while events are published, webhooks are not halted. Its deliveries stay as they are; nobody takes them up.
 */
export async function haltWebhook(
  ctx: Context,
  webhookId: string,
  state: 'PAUSED' | 'DISABLED',
  reason: string | null,
): Promise<void> {
  await execute(
    onPrimary(ctx),
    sql`update webhook set state = ${state}, reason = ${reason}, due_at = null, updated_at = ${ctx.now()}::timestamptz,
          held_from = coalesce(held_from, (select max(position) from event where position is not null), 0)
        where id = ${webhookId} and state = 'ACTIVE'`,
  );
}

/** Sends a webhook what has waited for it, in steps (core/webhooks/resume-webhooks.ts), and what is to come. */
export async function resumeWebhook(ctx: Context, webhookId: string): Promise<void> {
  const now = ctx.now();
  await execute(
    onPrimary(ctx),
    sql`update webhook set state = 'ACTIVE', reason = null, failing = false,
          due_at = ${now}::timestamptz, updated_at = ${now}::timestamptz
        where id = ${webhookId} and state <> 'ACTIVE'`,
  );
  ctx.services.changes.announce('due', 'webhook');
}
