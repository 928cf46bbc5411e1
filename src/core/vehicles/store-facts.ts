import { type Expression, expressionBuilder, type QueryCreator, sql } from 'kysely';
import type { ConnectivityStatus, DataDelivery } from '../../manufacturers/provider.ts';
import { holdingFleetsOf } from '../fleets/fleets.ts';
import { scheduling } from '../schedule.ts';
import { prepare } from '../sql/prepare.ts';
import { anyId, anyOf, spread } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { recheckAfter } from './eligibility.ts';
import type { EligibilityStatus } from './vehicle.ts';

/** What `facts` is read as; what is JSON there is written as it is. */
interface FactRow {
  id: string;
  until: string;
  status: EligibilityStatus;
  reason: string | null;
  raw_answer: string | null;
  asked: boolean;
  retry_after: number;
  manufacturer: string | null;
  data_delivery: string;
  connectivity_status: ConnectivityStatus | null;
  primary_user_assigned: boolean | null;
}
const factRows = (facts: string) =>
  sql<FactRow>`jsonb_to_recordset(${facts}::jsonb)`.as<'f'>(sql`f(
    id uuid, until timestamptz, status text, reason jsonb, raw_answer jsonb, asked boolean,
    retry_after real, manufacturer text, data_delivery jsonb, connectivity_status text, primary_user_assigned boolean)`);

/** Beside the facts, for how many hours an answer of each status is trusted. */
interface Facts extends Record<Exclude<EligibilityStatus, 'PENDING'>, number> {
  company: string;
  /** The process that claimed the vehicles. */
  process: string;
  facts: string;
  /** Of the facts. */
  ids: readonly string[];
  now: Date;
}

/** The claims among these facts that are still held, locked in the order of VINs, and their fleets before them. */
const heldClaims = (p: Facts) =>
  db
    .with('held', holdingFleetsOf(p))
    .with('fact', (q) => q.selectFrom(factRows(p.facts)).selectAll())
    .with('mine', (q) =>
      q
        .selectFrom('vehicle as v')
        .innerJoin('fact', 'fact.id', 'v.id')
        .select(['v.id', 'v.status as was'])
        .where('v.company', '=', p.company)
        // By their ids, and nothing else that an index has: where few seem to be claimed, the planner would look through the
        // fleet, or the table, rather than look up each; and the rows of a claim end together.
        .where('v.id', '=', anyId(p.ids))
        .where('v.claimed_by', '=', p.process)
        .whereRef('v.due_at', 'is not distinct from', 'fact.until')
        .where(
          ({ ref, selectFrom }) =>
            sql<boolean>`(${ref('v.fleet_id')} = ${anyOf(selectFrom('held').select('id'))}) is true`,
        )
        .orderBy('v.vin')
        .forUpdate('v'),
    );

/** Delays grow as 1, 2, 4 … seconds, to a quarter of an hour, each spread by half so that retries do not march in step. */
const RETRY_CAP_SECONDS = 900;

/** How many seconds to wait after no answer. */
const secondsToRetry = (
  vin: Expression<string>,
  asked: Expression<boolean>,
  retryAfter: Expression<number>,
  faults: Expression<number>,
) =>
  sql<number>`case when ${asked}
    then greatest(${retryAfter}, least(${RETRY_CAP_SECONDS}, power(2, least(${faults}, 20))) * (0.75 + ${spread(vin)} / 2))
    else ${retryAfter} * (1 + ${spread(vin)} / 4) end`;

const stored = [
  'v.id',
  'v.vin',
  'v.company',
  'v.fleet_id',
  'v.manufacturer',
  'mine.was',
  'v.status',
  'v.reason',
  'v.due_at',
] as const;

type WithClaims = Tables & {
  fact: FactRow;
  mine: { id: string; was: EligibilityStatus };
};

/** An answer stands until it has aged. `case … when` with conditions: the short form is none that Citus passes on right. */
function answered(q: QueryCreator<WithClaims>, p: Facts) {
  const now = sql<Date>`${p.now}::timestamptz`;
  return q
    .updateTable('vehicle as v')
    .from(['fact', 'mine'])
    .set({
      status: ({ ref }) => ref('fact.status'),
      reason: ({ ref }) => ref('fact.reason'),
      raw_answer: ({ ref }) => ref('fact.raw_answer'),
      manufacturer: ({ fn }) => fn.coalesce('fact.manufacturer', 'v.manufacturer'),
      data_delivery: ({ ref }) =>
        sql<DataDelivery[]>`array(select jsonb_array_elements_text(${ref('fact.data_delivery')}))`,
      connectivity_status: ({ ref }) => ref('fact.connectivity_status'),
      primary_user_assigned: ({ ref }) => ref('fact.primary_user_assigned'),
      attempts: (eb) => eb('v.faults', '+', sql.lit(1)),
      faults: 0,
      verified_at: now,
      claimed_by: null,
      due_at: ({ ref }) =>
        sql<Date>`${now} + case when ${ref('fact.status')} = 'ELIGIBLE' then ${recheckAfter(p.ELIGIBLE, ref('v.vin'))}
          when ${ref('fact.status')} = 'INELIGIBLE' then ${recheckAfter(p.INELIGIBLE, ref('v.vin'))}
          when ${ref('fact.status')} = 'UNSUPPORTED' then ${recheckAfter(p.UNSUPPORTED, ref('v.vin'))} else ${recheckAfter(p.FAILED, ref('v.vin'))} end`,
    })
    .whereRef('fact.id', '=', 'v.id')
    .whereRef('mine.id', '=', 'v.id')
    .where('v.company', '=', p.company)
    .where('fact.status', '<>', sql.lit('PENDING'))
    .returning([...stored, sql.lit(true).as('answered')]);
}

const told = expressionBuilder<{ v: Tables['vehicle']; fact: FactRow }, 'v' | 'fact'>();
const faults = sql<number>`${told.ref('v.faults')} + ${told.ref('fact.asked')}::int`;

/** One value of a vehicle that has no answer yet, another of one that has. */
const whilePending = <T>(pending: Expression<T>, answered: Expression<T>) =>
  told.case().when('v.status', '=', sql.lit('PENDING')).then(pending).else(answered).end();

/** No answer leaves everything as it was but for the next attempt. */
function unanswered(q: QueryCreator<WithClaims>, p: Facts) {
  const now = sql<Date>`${p.now}::timestamptz`;
  return q
    .updateTable('vehicle as v')
    .from(['fact', 'mine'])
    .set({
      faults,
      claimed_by: null,
      attempts: ({ ref }) => whilePending(faults, ref('v.attempts')),
      reason: ({ fn, ref }) => {
        const before = ref('v.reason').$castTo<string | null>();
        return whilePending(fn.coalesce('fact.reason', before), before);
      },
      due_at: ({ ref }) =>
        sql<Date>`${now} + make_interval(secs =>
          ${secondsToRetry(ref('v.vin'), ref('fact.asked'), ref('fact.retry_after'), ref('v.faults'))})`,
    })
    .whereRef('fact.id', '=', 'v.id')
    .whereRef('mine.id', '=', 'v.id')
    .where('v.company', '=', p.company)
    .where('fact.status', '=', sql.lit('PENDING'))
    .returning([...stored, sql.lit(false).as('answered')]);
}

/** Stores facts about vehicles whose claims are still held; gives what the vehicles were and are. */
export const storeFacts = prepare((p: Facts) =>
  heldClaims(p)
    .with('answered', (q) => answered(q, p))
    .with('unanswered', (q) => unanswered(q, p))
    .with('scheduled', (q) =>
      scheduling(q, 'vehicle', q.selectFrom('unanswered').select(['company', 'due_at']).as('r')),
    )
    .selectFrom('answered')
    .selectAll()
    .unionAll((q) => q.selectFrom('unanswered').selectAll()),
);
