import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Event } from '../events/event.ts';
import { eventObject } from '../events/events.ts';
import { isoSql } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { firstIdOf } from '../sql/sql.ts';
import { payloadOf } from './payload.ts';
import type { Attempt, Sender } from './sender.ts';
import { signedHeaders } from './signature.ts';

/** A delivery that this process has claimed until `until`, with all that sending it takes. */
export interface ClaimedDelivery {
  id: string;
  webhook_id: string;
  attempts: number;
  until: string;
  url: string;
  secrets: string[];
  event: Event;
}

/** Longer than an attempt may take; a killed process's deliveries come due again after it. */
const LEASE_SECONDS = 30;

/**
 * Deliveries of a company that are taken up together. Those of webhooks whose last attempt failed are apart, so that they
 * hold up no others, and so are those that somebody asked for although their webhook is halted.
 */
export interface Party {
  company: string;
  kind: keyof typeof kinds;
}

/** Which webhooks `w` and which of their deliveries `d` are meant, and how many of one webhook are under way at a time. */
const kinds = {
  sound: { webhooks: sql`w.state = 'ACTIVE' and not w.failing`, deliveries: sql`true`, perWebhook: 4 },
  failing: { webhooks: sql`w.state = 'ACTIVE' and w.failing`, deliveries: sql`true`, perWebhook: 1 },
  asked: { webhooks: sql`w.state <> 'ACTIVE'`, deliveries: sql`d.asked`, perWebhook: 1 },
};

/** Webhooks `w`, and how much room each has for more; `busy` is how many deliveries each has under way in this process. */
const webhooksOf = ({ kind, busy }: { kind: keyof typeof kinds; busy: ReadonlyMap<string, number> }) =>
  sql`(select w.*, greatest(0, ${kinds[kind].perWebhook}::int - coalesce(busy.count, 0)) as room from webhook w
       left join unnest(${[...busy.keys()]}::uuid[], ${[...busy.values()]}::int[]) busy(id, count) on busy.id = w.id
       where ${kinds[kind].webhooks}) w`;

/**
 * Whose deliveries have come due by `now`, and whether any webhook of theirs has room; the longest waiting first. Locks
 * nothing.
 */
export async function partiesDue(
  ctx: Context,
  now: Date,
  busy: ReadonlyMap<string, number>,
): Promise<(Party & { room: boolean })[]> {
  const ofKind = (kind: keyof typeof kinds) =>
    sql`select w.company, ${kind}::text as kind, next.due_at, w.room from ${webhooksOf({ kind, busy })} cross join lateral (
          select d.due_at from delivery d where d.webhook_id = w.id and d.due_at <= ${now}::timestamptz
            and ${kinds[kind].deliveries} order by d.due_at limit 1
        ) next`;
  return execute(
    onPrimary(ctx),
    sql`select company, kind, max(room) > 0 as room from (${ofKind('sound')} union all ${ofKind('failing')} union all ${ofKind('asked')}) due
        group by company, kind order by min(due_at)`,
  );
}

/** Claims up to `limit` deliveries of a party that have come due, the longest waiting first. */
export async function claimDeliveries(
  ctx: Context,
  { company, kind }: Party,
  { limit, busy }: { limit: number; busy: ReadonlyMap<string, number> },
): Promise<ClaimedDelivery[]> {
  const now = ctx.now();
  const until = new Date(now.getTime() + LEASE_SECONDS * 1000).toISOString();
  return execute<ClaimedDelivery>(
    onPrimary(ctx),
    sql`with due as materialized (
          select due.id from ${webhooksOf({ kind, busy })} cross join lateral (
            select d.id, d.due_at from delivery d where d.webhook_id = w.id and d.due_at <= ${now}::timestamptz
              and ${kinds[kind].deliveries} order by d.due_at limit w.room for update skip locked
          ) due
          where w.company = ${company} order by due.due_at limit ${limit}
        )
        update delivery d set due_at = ${until}::timestamptz, claimed = true
        from due, webhook w, event e
        where d.id = due.id and w.id = d.webhook_id and e.id = d.event_id
        returning d.id, d.webhook_id, d.attempts, ${until}::text as until, w.url, ${eventObject} as event,
          case when w.old_secret_until > ${now}::timestamptz then array[w.secret, w.old_secret] else array[w.secret] end as secrets`,
  );
}

/** When the first delivery after `now` comes due (ISO 8601), or null when none ever does. */
export async function nextDeliveryDue(ctx: Context, now: Date): Promise<string | null> {
  const [row] = await execute<{ due_at: string | null }>(
    onPrimary(ctx),
    sql`select ${sql.raw(isoSql('min(next.due_at)'))} as due_at from webhook w cross join lateral (
          select due_at from delivery where webhook_id = w.id and due_at > ${now}::timestamptz order by due_at limit 1
        ) next where w.state = 'ACTIVE'`,
  );
  return row?.due_at ?? null;
}

/** What was sent, and what came of it. */
export interface Sent extends Attempt {
  headers: Record<string, string>;
  at: Date;
}

/** Sends a delivery once. Id and body are the same on each attempt; time and signature are of now. */
export async function sendDelivery(
  ctx: Context,
  sender: Sender,
  { event, url, secrets }: ClaimedDelivery,
): Promise<Sent> {
  const at = ctx.now();
  const body = payloadOf(event);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'FleetGateway-Webhooks/1',
    ...signedHeaders(event.id, body, secrets, at),
  };
  return { ...(await sender.send(url, headers, body)), headers, at };
}

/** Finished deliveries are kept this long. */
const DELIVERIES_KEPT_DAYS = 30;
const TRIMMED_AT_ONCE = 5000;

/** Forgets finished deliveries past their time, in small steps; gives whether there may be more. */
export async function trimDeliveries(ctx: Context): Promise<boolean> {
  const rows = await execute(
    onPrimary(ctx),
    sql`delete from delivery where id in (
          select id from delivery where id < ${firstIdOf(ctx.now().getTime() - DELIVERIES_KEPT_DAYS * 86_400_000)}::uuid
            and state <> 'PENDING' order by id limit ${TRIMMED_AT_ONCE}
        ) returning 1`,
  );
  return rows.length === TRIMMED_AT_ONCE;
}
