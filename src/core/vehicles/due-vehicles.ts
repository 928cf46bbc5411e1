import { sql } from 'kysely';
import type { Reason } from '../../manufacturers/index.ts';
import { scheduleClause, scheduleForKind } from '../companies/schedule.ts';
import { claimEnd, providerTimeoutMs } from '../companies/take-over-claims.ts';
import type { Context } from '../context.ts';
import { anyOf, anyOfTexts, asTimestamptz, db, hashFraction, prepare } from '../sql/sql.ts';
import { existingVehiclesQuery } from './vehicles.ts';

// A vehicle is at rest (nobody has it; `due_at` is null or later), due (`due_at` has come) or claimed (`claimed_by` is a process, `due_at` the
// end of its claim). A new one is due, and time and `requestVerification` make it so. `claimDueVehicles` claims it. Its process gives it back, at rest,
// with an answer (`storeVehicleFacts`, if the claim is still its own), or with none, until a later attempt. If the process is dead,
// `takeOverClaims` (core/companies/take-over-claims.ts) makes it due; if it only hangs, the end of the claim does. `postponeVehicles` has a due one rest, unclaimed.

export const vehicleSchedule = scheduleForKind('vehicle', (company) =>
  existingVehiclesQuery(company)
    .select('v.due_at')
    .where('v.due_at', 'is not', null)
    .orderBy('v.due_at')
    .limit(sql.lit(1)),
);

/** A claim outlives the wait for a place, a token, the question, and storing the answer, each of up to one time-out. */
const LEASE_TIMEOUTS = 4;

/** The end (ms since 1970) of the question about a claimed vehicle, with time left for storing the answer. */
export const claimDeadline = (ctx: Context, { until }: ClaimedVehicle): number =>
  Date.parse(until) - providerTimeoutMs(ctx);

interface ClaimInput {
  company: string;
  /** Brands. */
  except: readonly string[];
  limit: number;
}

const claim = prepare((p: ClaimInput & { process: string; now: Date; until: string }) => {
  const due = existingVehiclesQuery(p.company)
    .select('v.id')
    .where('v.due_at', '<=', asTimestamptz(p.now))
    .where(({ ref }) => sql<boolean>`(${ref('v.manufacturer')} <> all(${p.except}::text[])) is not false`)
    .orderBy('v.due_at')
    .limit(p.limit)
    .forUpdate()
    .skipLocked();
  return db
    .updateTable('vehicle as v')
    .set({ due_at: asTimestamptz(p.until), claimed_by: p.process })
    .where('v.company', '=', p.company)
    .where('v.id', '=', anyOf(due))
    .returning(['v.id', 'v.vin', 'v.company', 'v.manufacturer']);
});

export const vehicleClaimEnd = (ctx: Context): string => claimEnd(ctx, LEASE_TIMEOUTS);

/** Claims up to `limit` due vehicles of a company, the longest waiting first; skips rows of other claims. */
export async function claimDueVehicles(ctx: Context, wanted: ClaimInput, until = vehicleClaimEnd(ctx)) {
  const now = ctx.now();
  const claimed = await claim(ctx, { ...wanted, process: ctx.services.changes.process, now, until });
  return claimed.map((vehicle) => ({ ...vehicle, until }));
}

/** A vehicle to be verified; `until` shows that the claim is still held when the answer is stored. */
export type ClaimedVehicle = Awaited<ReturnType<typeof claimDueVehicles>>[number];

const POSTPONED_AT_ONCE = 1000;

type Hold = { company: string; brands: readonly string[]; seconds: number };

const postpone = prepare((p: Hold & { reason: string; now: Date }) => {
  const now = asTimestamptz(p.now);
  const first = existingVehiclesQuery(p.company)
    .select(['v.id', 'v.manufacturer'])
    .where('v.due_at', '<=', now)
    .orderBy('v.due_at')
    .limit(POSTPONED_AT_ONCE);
  const ofBrands = db.selectFrom(first.as('first')).select('id').where('manufacturer', '=', anyOfTexts(p.brands));
  const due = db
    .selectFrom('vehicle')
    .select('id')
    .where('company', '=', p.company)
    .where('due_at', '<=', now)
    .where('id', '=', anyOf(ofBrands))
    .forUpdate()
    .skipLocked();
  return db
    .updateTable('vehicle as v')
    .set(({ ref }) => ({
      claimed_by: null,
      // Not by an interval, which is added by the session's time zone.
      due_at: sql<string>`to_timestamp(extract(epoch from ${now}) + ${p.seconds}::float8 * (1 + ${hashFraction(ref('v.vin'))} / 4))`,
      reason: sql<string>`case when ${ref('v.status')} = 'PENDING' then ${p.reason}::jsonb else ${ref('v.reason')} end`,
    }))
    .where('v.company', '=', p.company)
    .where('v.id', '=', anyOf(due));
});

/** Postpones due vehicles of these brands, among the company's first 1,000; pending ones show the reason. */
export async function postponeVehicles(ctx: Context, { reason, ...hold }: Hold & { reason: Reason }): Promise<void> {
  await postpone(ctx, { ...hold, reason: JSON.stringify(reason), now: ctx.now() });
}

// Vehicles about which the providers of this process can be asked, and those of an earlier start could not.

const REASKED_AT_ONCE = 5000;

/** Written as candidateBrands (manufacturers/brands.ts) has it. */
const wmi = sql<string>`case when substr(v.vin, 3, 1) = '9' then left(v.vin, 3) || substr(v.vin, 12, 3) else left(v.vin, 3) end`;

const makeUnsupportedDue = prepare((p: { now: Date; makers: readonly string[]; wmis: readonly string[] }) => {
  const fleets = db
    .selectFrom('vehicle_tally')
    .select(['company', 'fleet_id'])
    .where('status', '=', sql.lit('UNSUPPORTED'))
    .groupBy(['company', 'fleet_id'])
    .having(({ fn }) => fn.sum('delta'), '>', sql.lit(0));
  const ofFleet = db
    .selectFrom('vehicle as v')
    .select(['v.company', 'v.id'])
    .where('v.company', '=', sql.ref<string>('t.company'))
    .where('v.fleet_id', '=', sql.ref<string>('t.fleet_id'))
    // A claimed vehicle is being asked about.
    .where('v.claimed_by', 'is', null)
    .where('v.status', '=', sql.lit('UNSUPPORTED'))
    .where('v.manufacturer', '=', anyOfTexts(p.makers))
    // Nobody was asked about a vehicle without an answer to keep.
    .where('v.raw_answer', 'is', null)
    .where('v.due_at', '>', asTimestamptz(p.now))
    .where(wmi, '=', anyOfTexts(p.wmis))
    .limit(sql.lit(REASKED_AT_ONCE))
    .forUpdate()
    .skipLocked();
  const all = db.selectFrom(fleets.as('t')).crossJoinLateral(() => ofFleet.as('f'));
  return db
    .with('found', () => all.select(['f.company', 'f.id']).limit(sql.lit(REASKED_AT_ONCE)))
    .with('made', (q) =>
      q
        .updateTable('vehicle as v')
        .from('found')
        .set({ due_at: asTimestamptz(p.now) })
        .whereRef('v.company', '=', 'found.company')
        .whereRef('v.id', '=', 'found.id')
        .returning(['v.company', 'v.due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'vehicle', q.selectFrom('made').select(['company', 'due_at'])))
    .selectFrom('made')
    .select('company');
});

/** Has vehicles asked about that had no provider and have one now; gives whether more may be left. */
export async function reaskUnsupported(ctx: Context): Promise<boolean> {
  const { manufacturers, changes } = ctx.services;
  const made = await makeUnsupportedDue(ctx, { ...manufacturers.servable, now: ctx.now() });
  if (made.length > 0) changes.announce('due', 'vehicle');
  return made.length === REASKED_AT_ONCE;
}
