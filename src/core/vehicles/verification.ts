import { type Expression, expressionBuilder, type QueryCreator, sql } from 'kysely';
import type { ConnectivityStatus, DataDelivery, Verification } from '../../manufacturers/index.ts';
import { planVehicles } from '../activation/plan-activations.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { transaction } from '../database.ts';
import { type EventFact, recordEvents, systemOrigin } from '../events/record-events.ts';
import { existingFleetsQuery } from '../fleets/fleets.ts';
import { toMendedJson } from '../input.ts';
import { anyOf, anyOfIds, db, hashFraction, jsonRecordset, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { type ClaimedVehicle, claimDeadline } from './due-vehicles.ts';
import { recheckHours, recheckInterval } from './eligibility.ts';
import { updateVehicleTally } from './tally.ts';
import type { EligibilityStatus } from './vehicle.ts';
import { isInFleets } from './vehicles.ts';

/** Asks the manufacturer once. No transaction is open meanwhile. */
export async function askManufacturer(ctx: Context, vehicle: ClaimedVehicle): Promise<Verification> {
  const { vin, manufacturer, company } = vehicle;
  return ctx.services.manufacturers.verify(vin, manufacturer, { company, deadline: claimDeadline(ctx, vehicle) });
}

export type VerifiedVehicle = { vehicle: ClaimedVehicle; verification: Verification };

/**
 * Stores answers in one transaction, and gives those that it skipped: of deleted vehicles, of lost claims, and of vehicles that
 * somebody else has locked or just moved. Failures change attempts and times.
 */
export async function storeVerifications<T extends VerifiedVehicle>(ctx: Context, done: readonly T[]): Promise<T[]> {
  const { changes } = ctx.services;
  const all = await transaction(ctx, async () => {
    const stored = await updateVehicles(ctx, done);
    // A vehicle without an answer comes due sooner than its claim ends.
    if (stored.some((row) => !row.answered)) changes.announce('due', 'vehicle');
    const answered = stored.filter((row) => row.answered);
    const changed = answered.filter(({ was, status }) => was !== status);
    await updateVehicleTally(ctx, changed.flatMap(tallyChanges));
    await recordEvents(ctx, changed.map(eligibilityChanged), systemOrigin(ctx));
    for (const [company, rows] of Map.groupBy(answered, (row) => row.company)) {
      changes.announceAnswers(company, rows);
      const ofOthers = rows.filter(({ maker, manufacturer }) => maker !== manufacturer);
      if (ofOthers.length > 0)
        await planVehicles(
          ctx,
          company,
          ofOthers.map(({ id }) => id),
        );
    }
    return stored;
  });
  for (const { answered, asked, status } of all) {
    if (!answered || asked) changes.emit('outcome', 'verification', answered ? status : 'NO_ANSWER', 1);
  }
  const ids = new Set(all.map(({ id }) => id));
  return done.filter(({ vehicle }) => !ids.has(vehicle.id));
}

async function updateVehicles(ctx: Context, done: readonly VerifiedVehicle[]): Promise<StoredVehicle[]> {
  const stored: StoredVehicle[] = [];
  for (const [company, own] of Map.groupBy(done, ({ vehicle }) => vehicle.company)) {
    const rows = await storeVehicleFacts(ctx, {
      company,
      process: ctx.services.changes.process,
      // Facts contain text of a provider.
      facts: toMendedJson(own.map(({ vehicle: { id, until }, verification }) => ({ id, until, ...verification }))),
      ids: own.map(({ vehicle }) => vehicle.id),
      now: ctx.now(),
      hours: JSON.stringify(recheckHours(ctx)),
    });
    stored.push(...rows);
  }
  return stored;
}

type StoredVehicle = Awaited<ReturnType<typeof storeVehicleFacts>>[number];

const tallyChanges = ({ company, fleet_id, was, status }: StoredVehicle) => [
  { company, fleet_id, status: was, delta: -1 },
  { company, fleet_id, status, delta: 1 },
];

const eligibilityChanged = (row: StoredVehicle): EventFact => ({
  type: 'eligibility.changed',
  company: row.company,
  fleetId: row.fleet_id,
  vehicles: [{ id: row.id, vin: row.vin }],
  data: { from: row.was, to: row.status, manufacturer: row.manufacturer, reason: row.reason },
});

/** A row of the JSON in `facts`: a vehicle's id, the end of its claim, and a Verification. */
interface FactRow {
  id: string;
  until: string;
  status: EligibilityStatus;
  reason: string | null;
  raw: string | null;
  asked: boolean;
  retryAfter: number | null;
  manufacturer: string | null;
  provider: string | null;
  dataDelivery: DataDelivery[];
  connectivityStatus: ConnectivityStatus | null;
  primaryUserAssigned: boolean | null;
}
const factColumns = `id uuid, until timestamptz, status text, reason jsonb, raw jsonb, asked boolean, "retryAfter" real,
  manufacturer text, provider text, "dataDelivery" text[], "connectivityStatus" text, "primaryUserAssigned" boolean`;

interface Facts {
  company: string;
  process: string;
  facts: string;
  ids: readonly string[];
  now: Date;
  /** JSON of recheckHours. */
  hours: string;
}

/** A `with` clause that holds the fleets of these vehicles, but those that are locked for deletion. */
const lockedFleetsClause = ({ company, ids }: { company: string; ids: readonly string[] }) => {
  const theirs = db
    .selectFrom('vehicle')
    .select('fleet_id')
    .where('company', '=', company)
    .where('id', '=', anyOfIds(ids));
  return existingFleetsQuery(company).select('id').where('id', '=', anyOf(theirs)).forKeyShare().skipLocked();
};

/** The claims among these facts that are still held, locked in the order of VINs, and their fleets before them. */
const heldClaims = (p: Facts) =>
  db
    .with('held', lockedFleetsClause(p))
    .with('fact', (q) => q.selectFrom(jsonRecordset<FactRow, 'f'>('f', p.facts, factColumns)).selectAll())
    .with('claim', (q) =>
      q
        .selectFrom('vehicle as v')
        .innerJoin('fact', 'fact.id', 'v.id')
        .select(['v.id', 'v.status as was', 'v.manufacturer as maker'])
        .where('v.company', '=', p.company)
        .where('v.id', '=', anyOfIds(p.ids))
        .where('v.claimed_by', '=', p.process)
        .whereRef('v.due_at', 'is not distinct from', 'fact.until')
        .where(({ selectFrom }) => isInFleets(anyOf(selectFrom('held').select('id'))))
        .orderBy('v.vin')
        // Other companies' answers do not wait for a long transaction of this one.
        .forUpdate('v')
        .skipLocked(),
    );

/** Delays grow as 1, 2, 4 … seconds, up to a quarter of an hour, each spread by half, so that retries come apart. */
const RETRY_CAP_SECONDS = 900;

type Claim = { id: string; was: EligibilityStatus; maker: string | null };
type WithClaims = Tables & { fact: FactRow; claim: Claim };

const of = expressionBuilder<{ v: Tables['vehicle']; fact: FactRow }, 'v' | 'fact'>();

const storing = (q: QueryCreator<WithClaims>, p: Facts) =>
  q
    .updateTable('vehicle as v')
    .from(['fact', 'claim'])
    .whereRef('fact.id', '=', 'v.id')
    .whereRef('claim.id', '=', 'v.id')
    .where('v.company', '=', p.company)
    .returning(['v.id', 'v.vin', 'v.company', 'v.fleet_id', 'v.manufacturer', 'claim.was', 'v.status', 'v.reason'])
    .returning(['fact.asked', 'claim.maker']);

function answered(q: QueryCreator<WithClaims>, p: Facts) {
  const now = sql<Date>`${p.now}::timestamptz`;
  const hours = sql<number>`(${p.hours}::jsonb ->> ${of.ref('fact.status')})::int`;
  return storing(q, p)
    .set({
      status: of.ref('fact.status'),
      reason: of.ref('fact.reason'),
      raw_answer: of.ref('fact.raw'),
      provider: of.ref('fact.provider'),
      manufacturer: of.fn.coalesce('fact.manufacturer', 'v.manufacturer'),
      data_delivery: of.ref('fact.dataDelivery'),
      connectivity_status: of.ref('fact.connectivityStatus'),
      primary_user_assigned: of.ref('fact.primaryUserAssigned'),
      attempts: ifAsked(of('v.faults', '+', sql.lit(1)), of.ref('v.attempts')),
      faults: 0,
      verified_at: ifAsked(now, of.ref('v.verified_at').$castTo<Date | null>()),
      claimed_by: null,
      due_at: sql<Date>`${now} + ${recheckInterval(hours, of.ref('v.vin'))}`,
    })
    .where('fact.status', '<>', sql.lit('PENDING'))
    .returning(['v.due_at', sql.lit(true).as('answered')]);
}

const ifAsked = <T, U>(answered: Expression<T>, before: Expression<U>) =>
  of.case().when('fact.asked', '=', sql.lit(true)).then(answered).else(before).end();

const faults = sql<number>`${of.ref('v.faults')} + ${of.ref('fact.asked')}::int`;

const whilePending = <T>(pending: Expression<T>, answered: Expression<T>) =>
  of.case().when('v.status', '=', sql.lit('PENDING')).then(pending).else(answered).end();

function unanswered(q: QueryCreator<WithClaims>, p: Facts) {
  const before = of.ref('v.reason').$castTo<string | null>();
  const [vin, retryAfter] = [of.ref('v.vin'), sql`coalesce(${of.ref('fact.retryAfter')}, 0)`];
  const backoff = sql`least(${RETRY_CAP_SECONDS}, power(2, least(${of.ref('v.faults')}, 20))) * (0.75 + ${hashFraction(vin)} / 2)`;
  return storing(q, p)
    .set({
      faults,
      claimed_by: null,
      attempts: whilePending(faults, of.ref('v.attempts')),
      reason: whilePending(of.fn.coalesce('fact.reason', before), before),
      due_at: sql<Date>`${p.now}::timestamptz + make_interval(secs => case when ${of.ref('fact.asked')}
        then greatest(${retryAfter}, ${backoff}) else ${retryAfter} * (1 + ${hashFraction(vin)} / 4) end)`,
    })
    .where('fact.status', '=', sql.lit('PENDING'))
    .returning(['v.due_at', sql.lit(false).as('answered')]);
}

/** Stores facts about vehicles whose claims are still held; gives what the vehicles were and are. */
export const storeVehicleFacts = prepare((p: Facts) =>
  heldClaims(p)
    .with('answered', (q) => answered(q, p))
    .with('unanswered', (q) => unanswered(q, p))
    .with('scheduled', (q) => scheduleClause(q, 'vehicle', q.selectFrom('unanswered').select(['company', 'due_at'])))
    .selectFrom('answered')
    .selectAll()
    .unionAll((q) => q.selectFrom('unanswered').selectAll()),
);
