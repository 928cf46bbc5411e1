import { sql } from 'kysely';
import type { Reason } from '../../manufacturers/provider.ts';
import type { Context } from '../context.ts';
import { isoSql } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';

/** A vehicle whose manufacturer is to be asked, claimed by this process until `until`. */
export interface ClaimedVehicle {
  id: string;
  vin: string;
  company: string;
  manufacturer: string | null;
  /** The claim's end; whoever stores an answer shows by it that the claim is still theirs. */
  until: string;
}

/** A claim outlives the wait for a place, a token, the question, and storing the answer: each at most one time-out long. */
const LEASE_TIMEOUTS = 4;
/** What must be over by then is the asking: storing comes after it. */
const STORING_TIMEOUTS = 1;

const timeoutMs = (ctx: Context): number => ctx.services.config.PROVIDER_TIMEOUT_SECONDS * 1000;

/** When (ms since 1970) the asking about a claimed vehicle must be over. */
export const deadlineOf = (ctx: Context, { until }: ClaimedVehicle): number =>
  Date.parse(until) - STORING_TIMEOUTS * timeoutMs(ctx);

/**
 * Each company with vehicles that await something, and when the first of them does, as a table `turn`. One step in the
 * index for each company, however many vehicles it has.
 */
export const companiesWithDue = sql`
  recursive turn as (
    (select company, due_at from vehicle where due_at is not null order by company, due_at limit 1)
    union all
    select next.company, next.due_at from turn cross join lateral (
      select company, due_at from vehicle where due_at is not null and company > turn.company
      order by company, due_at limit 1
    ) next
  )`;

/** The companies of which vehicles have come due, and when (ISO 8601) the first of another one will. Locks nothing. */
export async function companiesDue(ctx: Context): Promise<{ companies: string[]; next: string | null }> {
  const now = sql`${ctx.now()}::timestamptz`;
  const [row] = await execute<{ companies: string[]; next: string | null }>(
    onPrimary(ctx),
    sql`with ${companiesWithDue}
        select coalesce(array_agg(company order by company) filter (where due), '{}') as companies,
          ${sql.raw(isoSql('min(due_at) filter (where not due)'))} as next
        from (select *, due_at <= ${now} as due from turn) turn`,
  );
  return { companies: row?.companies ?? [], next: row?.next ?? null };
}

/**
 * Claims up to `limit` vehicles of a company that have come due, the longest waiting first; none of the brands `except`.
 * Rows that another process is claiming are skipped, so that any number of processes share the work.
 */
export async function claimDueVehicles(
  ctx: Context,
  { company, except, limit }: { company: string; except: readonly string[]; limit: number },
): Promise<ClaimedVehicle[]> {
  const now = ctx.now();
  const until = new Date(now.getTime() + LEASE_TIMEOUTS * timeoutMs(ctx)).toISOString();
  return execute<ClaimedVehicle>(
    onPrimary(ctx),
    sql`with due as (
          select id from vehicle where company = ${company} and due_at <= ${now}::timestamptz
            and (manufacturer <> all(${except}::text[])) is not false
          order by due_at limit ${limit} for update skip locked
        )
        update vehicle v set due_at = ${until}::timestamptz, claimed = true
        from due where v.id = due.id
        returning v.id, v.vin, v.company, v.manufacturer, ${until}::text as until`,
  );
}

const POSTPONED_AT_ONCE = 1000;

/**
 * Lets due vehicles of these brands wait for about so many seconds, where they are among the company's first thousand,
 * since nobody can be asked about them; those that have no answer yet show why.
 */
export async function postponeVehicles(
  ctx: Context,
  { company, brands, seconds, reason }: { company: string; brands: readonly string[]; seconds: number; reason: Reason },
): Promise<void> {
  const now = sql`${ctx.now()}::timestamptz`;
  await execute(
    onPrimary(ctx),
    sql`with first as (
          select id, manufacturer from vehicle where company = ${company} and due_at <= ${now}
          order by due_at limit ${POSTPONED_AT_ONCE}
        ), due as (
          select id from vehicle where due_at <= ${now}
            and id = any(array(select id from first where manufacturer = any(${brands}::text[]))) for update skip locked
        )
        update vehicle v set claimed = false,
          due_at = ${now} + make_interval(secs => ${seconds}::real * (1 + random() / 4)),
          reason = case when v.status = 'PENDING' then ${JSON.stringify(reason)}::jsonb else v.reason end
        from due where v.id = due.id`,
  );
}
