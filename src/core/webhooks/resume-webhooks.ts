import { type SqlBool, sql } from 'kysely';
import { Webhook } from '../../entities/event.ts';
import { scheduleNow } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { deliveriesClause, holdPublishing } from '../events/event-log.ts';
import { anyOf, db, prepare, type RowKey } from '../sql/sql.ts';

/** Rows of a step: few, since pausing the webhook waits for a step, and publishing for the last one. */
const ROWS_AT_ONCE = 1000;

const FOUND_AT_ONCE = 100;

const findDue = prepare((p: { now: string; after: string }) =>
  db
    .selectFrom('webhook')
    .distinctOn('company')
    .select(['company', 'id'])
    .where('due_at', '<=', p.now)
    .where('company', '>', p.after)
    .orderBy('company')
    .orderBy('due_at')
    .limit(FOUND_AT_ONCE),
);

/** Of some companies the longest waiting webhook that was activated and has waiting deliveries or events. */
export const findWebhooksToResume = (ctx: Context, after = { company: '' }) =>
  findDue(ctx, { now: ctx.now().toISOString(), after: after.company });

/** Makes failed attempts, then waiting events due, step by step; gives whether there may be more. */
export async function resumeWebhookStep(ctx: Context, webhook: RowKey): Promise<boolean> {
  // A snapshot lacks events that are being published now, so the last step holds publishing.
  return (await step(ctx, webhook, { last: false })) || step(ctx, webhook, { last: true });
}

async function step(ctx: Context, { company, id }: RowKey, { last }: { last: boolean }): Promise<boolean> {
  return transaction(ctx, async (em) => {
    const values = { company, id, now: ctx.now().toISOString() };
    if (last) await holdPublishing(ctx, company);
    const [webhook] = await lockResuming(ctx, { company, id });
    if (!webhook) return false;
    const { length: forwarded } = await bringForward(ctx, values);
    const [looked] = forwarded < ROWS_AT_ONCE ? await deliverWaiting(ctx, values) : [];
    const count = looked?.count ?? 0;
    if (forwarded + count > 0) await scheduleNow(ctx, 'delivery', company);
    const more = forwarded === ROWS_AT_ONCE || count === ROWS_AT_ONCE;
    if (last && !more) await em.nativeUpdate(Webhook, { company, id }, { heldFrom: null, dueAt: null });
    return more;
  });
}

const lockResuming = prepare((p: RowKey) =>
  db
    .selectFrom('webhook')
    .select('id')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('due_at', 'is not', null)
    .forNoKeyUpdate(),
);

/** Makes attempts due now that would have come later, except those that failed after the webhook was activated. */
const bringForward = prepare((p: RowKey & { now: string }) => {
  const later = db
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
    .skipLocked();
  return db
    .updateTable('delivery')
    .set({ due_at: p.now })
    .where('company', '=', p.company)
    .where('id', '=', anyOf(later))
    .returning('id');
});

/** Makes deliveries of the next waiting events that the webhook wants; gives how many it looked at. */
const deliverWaiting = prepare((p: RowKey & { now: string }) =>
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
    .with('delivered', (q) =>
      deliveriesClause(q, p, q.selectFrom('next').selectAll().as('e'), sql<SqlBool>`w.id = ${p.id}`),
    )
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
