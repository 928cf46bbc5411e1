import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { holdPublishing } from '../events/log.ts';
import { execute, onPrimary } from '../sql/send.ts';
import type { ClaimedDelivery, Sent } from './deliver-webhooks.ts';
import { haltWebhook } from './state.ts';

/** Seconds after each failed attempt until the next; after the last there is none. */
export const RETRY_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
/** Each delay is up to so much longer, so that what failed together does not come back together. */
const JITTER = 0.1;

export interface Attempted {
  claimed: ClaimedDelivery;
  sent: Sent;
}

/**
 * Stores what came of attempts, in one statement. 2xx alone is success. A failure comes due again by the schedule, or when
 * the receiver asked for it if that is later; the last one pauses the webhook, and 410 disables it. Deliveries that are no
 * longer there, and claims that have run out, are passed over.
 */
export async function storeAttempts(ctx: Context, attempted: readonly Attempted[]): Promise<void> {
  const outcomes = attempted.map(outcomeOf);
  const halting = new Set(outcomes.filter(({ last }) => last).map(({ company }) => company));
  if (halting.size === 0) return store(ctx, outcomes);
  await ctx.em.transactional(async () => {
    // Whoever halts a webhook holds publishing, then locks it: always in this order.
    for (const company of [...halting].sort()) await holdPublishing(ctx, company);
    await store(ctx, outcomes);
  });
}

type Outcome = ReturnType<typeof outcomeOf>;

function outcomeOf({ claimed, sent }: Attempted) {
  const { status, headers, answer, error, at } = sent;
  const succeeded = status !== null && status >= 200 && status < 300;
  const gone = status === 410;
  const delay = gone ? undefined : RETRY_SECONDS[claimed.attempts];
  const { id, webhook_id, until, url } = claimed;
  return {
    company: claimed.event.company,
    ...{ id, webhook_id, until, url, status, headers, answer, error, attempted_at: at, duration_ms: sent.durationMs },
    succeeded,
    last: !succeeded && delay === undefined,
    seconds: Math.max((delay ?? 0) * (1 + Math.random() * JITTER), sent.retryAfter ?? 0),
    reason: gone ? 'The receiver answered 410 (Gone).' : exhausted(claimed, sent),
    halted: gone ? ('DISABLED' as const) : ('PAUSED' as const),
  };
}

async function store(ctx: Context, outcomes: readonly Outcome[]): Promise<void> {
  // Webhooks are locked before their deliveries, as by whoever deletes one.
  const stored = await execute<{ id: string; state: string; once: boolean }>(
    onPrimary(ctx),
    sql`with o as materialized (
          select * from jsonb_to_recordset(${JSON.stringify(outcomes)}::jsonb) as o(id uuid, webhook_id uuid,
            until timestamptz, url text, status int, headers jsonb, answer text, error text, attempted_at timestamptz,
            duration_ms int, succeeded boolean, last boolean, seconds float8)
        ), held as materialized (
          select id from webhook where id in (select webhook_id from o) order by id for no key update
        ), stored as (
          update delivery d set claimed = false, asked = false, attempts = attempts + 1, attempted_at = o.attempted_at,
            url = o.url, headers = o.headers, status = o.status, answer = o.answer, error = o.error,
            duration_ms = o.duration_ms,
            state = case when o.succeeded then 'SUCCEEDED' when once or o.last then 'FAILED' else 'PENDING' end,
            due_at = case when not (o.succeeded or once or o.last)
              then ${ctx.now()}::timestamptz + make_interval(secs => o.seconds) end
          from o join held on held.id = o.webhook_id
          where d.id = o.id and d.claimed and d.due_at = o.until returning d.id, d.webhook_id, d.state, d.once, o.succeeded
        ), told as (
          update webhook w set failing = not s.succeeded
          from (select webhook_id, bool_or(succeeded) as succeeded from stored group by 1) s
          where w.id = s.webhook_id and w.failing = s.succeeded
        )
        select id, state, once from stored`,
  );
  // Whoever waits for the next delivery to come due thinks it is later than it now is.
  if (stored.some(({ state }) => state === 'PENDING')) ctx.services.changes.announce('due', 'delivery');
  const ended = new Map(stored.flatMap((row) => (row.state === 'FAILED' ? [[row.id, row]] : [])));
  for (const { id, company, webhook_id, halted, reason } of outcomes) {
    const row = ended.get(id);
    if (row && (halted === 'DISABLED' || !row.once))
      await haltWebhook(ctx, { company, id: webhook_id }, halted, reason);
  }
}

function exhausted({ event, attempts }: ClaimedDelivery, { status, error }: Sent): string {
  const last = status === null ? error : `The last answer was ${status}.`;
  return `The event ${event.id} could not be delivered in ${attempts + 1} attempts. ${last}`;
}
