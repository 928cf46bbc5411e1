import { type QueryCreator, sql } from 'kysely';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { holdPublishing } from '../events/event-log.ts';
import { db, jsonRecordset, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import type { ClaimedDelivery, DeliveryResult } from './deliver-webhooks.ts';
import type { DeliveryState } from './deliveries.ts';
import { haltWebhook } from './webhook.ts';

/** Seconds from each failed attempt to the next. */
const RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
/** The greatest share by which a delay is longer, so that failures do not return together. */
const JITTER = 0.1;

export type DeliveryAttempt = { claimed: ClaimedDelivery; sent: DeliveryResult };

/**
 * Stores a company's attempts. 2xx alone is success; a failure comes due again by the schedule or `Retry-After`; the
 * last one pauses the webhook, 410 disables it. Skips deleted deliveries and lost claims.
 */
export async function storeDeliveryAttempts(ctx: Context, company: string, attempted: readonly DeliveryAttempt[]) {
  const outcomes = attempted.map(outcomeOf);
  const storeAndHalt = async () => {
    // Halting a webhook locks publishing first and the webhook second, everywhere in this order.
    await holdPublishing(ctx, company);
    await store(ctx, company, outcomes);
  };
  await (outcomes.some(({ last }) => last) ? transaction(ctx, storeAndHalt) : store(ctx, company, outcomes));
  const { changes } = ctx.services;
  for (const { succeeded } of outcomes) changes.emit('outcome', 'delivery', succeeded ? 'SUCCEEDED' : 'FAILED', 1);
}

type Outcome = ReturnType<typeof outcomeOf>;

function outcomeOf({ claimed, sent }: DeliveryAttempt) {
  const { status, headers, answer, error, at } = sent;
  const succeeded = status !== null && status >= 200 && status < 300;
  const isDisabled = status === 410;
  const delay = isDisabled ? undefined : RETRY_SECONDS[claimed.attempts];
  const { id, webhook_id, until, url } = claimed;
  return {
    ...{ id, webhook_id, until, url, status, headers, answer, error, attempted_at: at, duration_ms: sent.durationMs },
    succeeded,
    last: !succeeded && delay === undefined,
    seconds: Math.max((delay ?? 0) * (1 + Math.random() * JITTER), sent.retryAfter ?? 0),
    reason: isDisabled ? 'The receiver answered 410 (Gone).' : exhausted(claimed, sent),
    halted: isDisabled ? ('DISABLED' as const) : ('PAUSED' as const),
  };
}

/** An outcome in a statement; `due_at` is the time of another attempt. */
type OutcomeRow = Omit<Outcome, 'headers' | 'attempted_at' | 'seconds' | 'reason' | 'halted'> &
  Record<'headers' | 'attempted_at' | 'due_at', string>;
const outcomeColumns = `id uuid, webhook_id uuid, until timestamptz, url text, status int, headers jsonb, answer text,
  error text, attempted_at timestamptz, duration_ms int, succeeded boolean, last boolean, due_at timestamptz`;

const storeEach = (q: QueryCreator<Tables & { o: OutcomeRow; held: { id: string } }>, company: string) =>
  q
    .updateTable('delivery as d')
    .from('o')
    .innerJoin('held', 'held.id', 'o.webhook_id')
    .set(({ eb, ref }) => ({
      ...{ claimed: false, asked: false, attempts: eb('d.attempts', '+', 1), attempted_at: ref('o.attempted_at') },
      ...{ url: ref('o.url'), headers: ref('o.headers'), status: ref('o.status'), answer: ref('o.answer') },
      ...{ error: ref('o.error'), duration_ms: ref('o.duration_ms') },
      state: sql<DeliveryState>`case when ${ref('o.succeeded')} then 'SUCCEEDED'
        when ${ref('d.once')} or ${ref('o.last')} then 'FAILED' else 'PENDING' end`,
      due_at: sql<string | null>`case when not (${ref('o.succeeded')} or ${ref('d.once')} or ${ref('o.last')})
        then ${ref('o.due_at')} end`,
    }))
    .where('d.company', '=', company)
    .whereRef('d.id', '=', 'o.id')
    .where('d.claimed', '=', sql.lit(true))
    .whereRef('d.due_at', '=', 'o.until')
    .returning(['d.company', 'd.id', 'd.webhook_id', 'd.state', 'd.once', 'd.due_at', 'o.succeeded']);

/** Webhooks are locked before their deliveries, in the same order as when a webhook is deleted. */
const storeAll = prepare((p: { company: string; outcomes: string }) =>
  db
    .with(
      (cte) => cte('o').materialized(),
      (q) => q.selectFrom(jsonRecordset<OutcomeRow, 'o'>('o', p.outcomes, outcomeColumns)).selectAll(),
    )
    .with(
      (cte) => cte('held').materialized(),
      (q) =>
        q
          .selectFrom('webhook')
          .select('id')
          .where('company', '=', p.company)
          .where('id', 'in', (o) => o.selectFrom('o').select('webhook_id'))
          .orderBy('id')
          .forNoKeyUpdate(),
    )
    .with('stored', (q) => storeEach(q, p.company))
    .with('scheduled', (q) => scheduleClause(q, 'delivery', q.selectFrom('stored').select(['company', 'due_at'])))
    .with('judged', (q) =>
      q
        .updateTable('webhook as w')
        .from((of) =>
          of
            .selectFrom('stored')
            .select(({ fn }) => ['webhook_id', fn.agg<boolean>('bool_or', ['succeeded']).as('succeeded')])
            .groupBy('webhook_id')
            .as('s'),
        )
        .set({ failing: ({ not, ref }) => not(ref('s.succeeded')) })
        .where('w.company', '=', p.company)
        .whereRef('w.id', '=', 's.webhook_id')
        .whereRef('w.failing', '=', 's.succeeded'),
    )
    .selectFrom('stored')
    .select(['id', 'state', 'once']),
);

async function store(ctx: Context, company: string, outcomes: readonly Outcome[]) {
  const now = ctx.now();
  const rows = outcomes.map((one) => ({ ...one, due_at: new Date(now.getTime() + one.seconds * 1000) }));
  const stored = await storeAll(ctx, { company, outcomes: JSON.stringify(rows) });
  // A delivery may now be due earlier than the jobs of other processes expect.
  if (stored.some(({ state }) => state === 'PENDING')) ctx.services.changes.announce('due', 'delivery');
  const ended = new Map(stored.flatMap((row) => (row.state === 'FAILED' ? [[row.id, row]] : [])));
  for (const { id, webhook_id, halted: state, reason } of outcomes) {
    const row = ended.get(id);
    if (row && (state === 'DISABLED' || !row.once))
      await haltWebhook(ctx, { company, id: webhook_id, state, reason, now });
  }
}

function exhausted({ event, attempts }: ClaimedDelivery, { status, error }: DeliveryResult): string {
  const last = status === null ? error : `The last answer was ${status}.`;
  return `The event ${event.id} could not be delivered in ${attempts + 1} attempts. ${last}`;
}
