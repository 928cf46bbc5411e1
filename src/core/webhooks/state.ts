import type { Context } from '../context.ts';
import { endOfLog } from '../events/log.ts';
import { comesDue } from '../schedule.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';

/** A webhook by its key. */
export interface WebhookKey {
  company: string;
  id: string;
}

const halt = prepare((p: WebhookKey & { state: 'PAUSED' | 'DISABLED'; reason: string | null; now: Date }) =>
  db
    .updateTable('webhook')
    .set(({ fn, ref }) => ({
      state: p.state,
      reason: p.reason,
      due_at: null,
      updated_at: p.now,
      held_from: fn.coalesce(ref('held_from'), endOfLog(p.company)),
    }))
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('state', '=', 'ACTIVE'),
);

/**
 * Sends a webhook nothing more, and remembers from where its events wait for it. To be called in a transaction that holds
 * its company's publishing: while events are published, webhooks are not halted. Its deliveries stay as they are; nobody
 * takes them up.
 */
export async function haltWebhook(
  ctx: Context,
  { company, id }: WebhookKey,
  state: 'PAUSED' | 'DISABLED',
  reason: string | null,
): Promise<void> {
  await halt(onPrimary(ctx), { company, id, state, reason, now: ctx.now() });
}

const resume = prepare((p: WebhookKey & { now: Date }) =>
  db
    .updateTable('webhook')
    .set({ state: 'ACTIVE', reason: null, failing: false, due_at: p.now, updated_at: p.now })
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('state', '<>', 'ACTIVE'),
);

/** Sends a webhook what has waited for it, in steps (core/webhooks/resume-webhooks.ts), and what is to come. */
export async function resumeWebhook(ctx: Context, { company, id }: WebhookKey): Promise<void> {
  await resume(onPrimary(ctx), { company, id, now: ctx.now() });
  await comesDue(ctx, 'delivery', company);
  ctx.services.changes.announce('due', 'webhook');
}
