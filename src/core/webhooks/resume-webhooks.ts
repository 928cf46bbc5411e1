import { type SqlBool, sql } from 'kysely';
import type { Context } from '../context.ts';
import { delivering, holdPublishing } from '../events/log.ts';
import { comesDue } from '../schedule.ts';
import { transaction } from '../sql/send.ts';
import { db, prepare } from '../sql/sql.ts';
import type { WebhookKey } from './webhook.ts';

/** Rows of a step: few, since pausing the webhook waits for one, and at the end its company's publishing. */
const ROWS_AT_ONCE = 1000;

const findToResume = prepare((p: { now: string }) =>
  db.selectFrom('webhook').select(['company', 'id']).where('due_at', '<=', p.now).orderBy('due_at').limit(100),
);

/** Webhooks that are active again and for which something has waited, the longest waiting first. */
export const webhooksToResume = (ctx: Context): Promise<WebhookKey[]> =>
  findToResume(ctx, { now: ctx.now().toISOString() });

/**
 * Makes some of what waits for a webhook due: failed attempts, then events in the order of the log. Gives whether there
 * may be more. The webhook's row says how far it is, so it may be paused or deleted between two steps.
 */
export async function resumeStep(ctx: Context, webhook: WebhookKey): Promise<boolean> {
  // Events that are being published now are in no snapshot yet: only who holds publishing knows that there are no more.
  return (await step(ctx, webhook, { last: false })) || step(ctx, webhook, { last: true });
}

async function step(ctx: Context, { company, id }: WebhookKey, { last }: { last: boolean }): Promise<boolean> {
  return transaction(ctx, async () => {
    const given = { company, id, now: ctx.now().toISOString() };
    if (last) await holdPublishing(ctx, company);
    const [webhook] = await lockResuming(ctx, given);
    if (!webhook) return false;
    const { length: forwarded } = await bringForward(ctx, given);
    const [looked] = forwarded < ROWS_AT_ONCE ? await deliverWaiting(ctx, given) : [];
    const count = looked?.count ?? 0;
    if (forwarded + count > 0) await comesDue(ctx, 'delivery', company);
    const more = forwarded === ROWS_AT_ONCE || count === ROWS_AT_ONCE;
    if (last && !more) await endResuming(ctx, given);
    return more;
  });
}

const lockResuming = prepare((p: WebhookKey) =>
  db
    .selectFrom('webhook')
    .select('id')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('due_at', 'is not', null)
    .forNoKeyUpdate(),
);

const endResuming = prepare((p: WebhookKey) =>
  db
    .updateTable('webhook')
    .set({ held_from: null, due_at: null })
    .where('company', '=', p.company)
    .where('id', '=', p.id),
);

/** Makes attempts due now that would have come later; not those that have failed since the webhook is active again. */
const bringForward = prepare((p: WebhookKey & { now: string }) =>
  db
    .with('later', (q) =>
      q
        .selectFrom('delivery as d')
        .innerJoin('webhook as w', 'w.id', 'd.webhook_id')
        .select('d.id')
        .where('w.company', '=', p.company)
        .where('d.company', '=', p.company)
        .where('d.webhook_id', '=', p.id)
        .where('d.due_at', '>', p.now)
        .whereRef('d.attempted_at', '<', 'w.due_at')
        .where('d.claimed', '=', false)
        .orderBy('d.due_at')
        .limit(ROWS_AT_ONCE)
        .forUpdate(['d'])
        .skipLocked(),
    )
    .updateTable('delivery as d')
    .from('later')
    .set({ due_at: p.now })
    .where('d.company', '=', p.company)
    .whereRef('d.id', '=', 'later.id')
    .returning('d.id'),
);

/** Looks at the next events that wait, and makes deliveries of those that the webhook wants; gives how many it looked at. */
const deliverWaiting = prepare((p: WebhookKey & { now: string }) =>
  db
    .with(
      (cte) => cte('next').materialized(),
      (q) =>
        q
          .selectFrom('webhook as w')
          .innerJoin('event as e', (on) => on.onRef('e.position', '>', 'w.held_from'))
          .select(['e.id', 'e.type', 'e.position'])
          .where('w.company', '=', p.company)
          .where('w.id', '=', p.id)
          .where('e.company', '=', p.company)
          .orderBy('e.position')
          .limit(ROWS_AT_ONCE),
    )
    .with('delivered', (q) => delivering(q, p, q.selectFrom('next').selectAll().as('e'), sql<SqlBool>`w.id = ${p.id}`))
    .with('moved', (q) =>
      q
        .updateTable('webhook')
        .set(({ selectFrom }) => ({ held_from: selectFrom('next').select(({ fn }) => fn.max('position').as('last')) }))
        .where('company', '=', p.company)
        .where('id', '=', p.id)
        .where(({ exists, selectFrom }) => exists(selectFrom('next').select('id'))),
    )
    .selectFrom('next')
    .select(({ fn, cast }) => cast<number>(fn.countAll(), 'int4').as('count')),
);
