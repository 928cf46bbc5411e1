import { sql } from 'kysely';
import type { Reason } from '../../manufacturers/provider.ts';
import type { Context } from '../context.ts';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { scheduleOf } from '../schedule.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { anyOf, anyText, spread } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';

/** Which companies have vehicles that await something; those of fleets that are being deleted await nothing. */
export const vehicleSchedule = scheduleOf('vehicle', (company) =>
  db
    .selectFrom('vehicle')
    .select('due_at')
    .where('company', '=', company)
    .where('due_at', 'is not', null)
    .where(ofFleetThatIsThere('vehicle', company))
    .orderBy('due_at')
    .limit(sql.lit(1)),
);

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

/** When claims that are made now end at the latest. */
export const claimsEnd = (ctx: Context): Date => new Date(ctx.now().getTime() + LEASE_TIMEOUTS * timeoutMs(ctx));

interface Claim {
  company: string;
  except: readonly string[];
  limit: number;
  process: string;
  now: Date;
  until: string;
}

const claim = prepare((p: Claim) =>
  db
    .with('due', (q) =>
      q
        .selectFrom('vehicle')
        .select('id')
        .where('company', '=', p.company)
        .where('due_at', '<=', sql<string>`${p.now}::timestamptz`)
        .where(({ ref }) => sql<boolean>`(${ref('manufacturer')} <> all(${p.except}::text[])) is not false`)
        .where(ofFleetThatIsThere('vehicle', p.company))
        .orderBy('due_at')
        .limit(p.limit)
        .forUpdate()
        .skipLocked(),
    )
    .updateTable('vehicle as v')
    .set({ due_at: sql<string>`${p.until}::timestamptz`, claimed_by: p.process })
    .where('v.company', '=', p.company)
    .where('v.id', '=', (of) => anyOf(of.selectFrom('due').select('id')))
    .returning(['v.id', 'v.vin', 'v.company', 'v.manufacturer']),
);

/**
 * Claims up to `limit` vehicles of a company that have come due, the longest waiting first; none of the brands `except`, and
 * none of a fleet that is being deleted.
 * Rows that another process is claiming are skipped, so that any number of processes share the work.
 */
export async function claimDueVehicles(
  ctx: Context,
  { company, except, limit }: { company: string; except: readonly string[]; limit: number },
): Promise<ClaimedVehicle[]> {
  const now = ctx.now();
  const until = claimsEnd(ctx).toISOString();
  const { process } = ctx.services.changes;
  const claimed = await claim(onPrimary(ctx), { company, except, limit, process, now, until });
  return claimed.map((vehicle) => ({ ...vehicle, until }));
}

const POSTPONED_AT_ONCE = 1000;

interface Postponed {
  company: string;
  brands: readonly string[];
  seconds: number;
  reason: string;
  now: Date;
  /** The same in seconds since 1970. */
  since: number;
}

const postpone = prepare((p: Postponed) => {
  const now = sql<string>`${p.now}::timestamptz`;
  return db
    .with('first', (q) =>
      q
        .selectFrom('vehicle')
        .select(['id', 'manufacturer'])
        .where('company', '=', p.company)
        .where('due_at', '<=', now)
        .where(ofFleetThatIsThere('vehicle', p.company))
        .orderBy('due_at')
        .limit(POSTPONED_AT_ONCE),
    )
    .with('due', (q) => {
      const held = q.selectFrom('first').select('id').where('manufacturer', '=', anyText(p.brands));
      return q
        .selectFrom('vehicle')
        .select('id')
        .where('company', '=', p.company)
        .where('due_at', '<=', now)
        .where('id', '=', anyOf(held))
        .forUpdate()
        .skipLocked();
    })
    .updateTable('vehicle as v')
    .set({
      claimed_by: null,
      due_at: ({ ref }) =>
        // Not by an interval, which is added by the session's time zone: Citus takes nothing here that depends on a session.
        sql<string>`to_timestamp(${p.since}::float8 + ${p.seconds}::float8 * (1 + ${spread(ref('v.vin'))} / 4))`,
      reason: ({ ref }) =>
        sql<string>`case when ${ref('v.status')} = 'PENDING' then ${p.reason}::jsonb else ${ref('v.reason')} end`,
    })
    .where('v.company', '=', p.company)
    .where('v.id', '=', (of) => anyOf(of.selectFrom('due').select('id')));
});

/**
 * Lets due vehicles of these brands wait for about so many seconds, where they are among the company's first thousand,
 * since nobody can be asked about them; those that have no answer yet show why.
 */
export async function postponeVehicles(
  ctx: Context,
  { company, brands, seconds, reason }: { company: string; brands: readonly string[]; seconds: number; reason: Reason },
): Promise<void> {
  const now = ctx.now();
  await postpone(onPrimary(ctx), {
    company,
    brands,
    seconds,
    reason: JSON.stringify(reason),
    now,
    since: now.getTime() / 1000,
  });
}
