import { type Expression, sql } from 'kysely';
import { vinOrNull } from '../../vin-files/index.ts';
import type { EligibilityNews } from '../changes.ts';
import { scheduleNow } from '../companies/schedule.ts';
import { authorize, type Context, contextOfNewestRead } from '../context.ts';
import { transaction } from '../database.ts';
import { EligibilityInProgress, ManufacturerNotSupported } from '../errors.ts';
import { fleetExistsExpression } from '../fleets/fleet.ts';
import { readInput } from '../input.ts';
import { type RowWriter, readOneRow, readOneRowText } from '../sql/read.ts';
import { anyOf, asTimestamptz, db, hashFraction, prepare } from '../sql/sql.ts';
import type { Eligibility, EligibilityStatus } from './vehicle.ts';
import { eligibilityResource, existingVehiclesQuery, vehicleJsonExpression } from './vehicles.ts';
import {
  missingVehicleKeys,
  namedVehiclesQuery,
  requestVerificationInput,
  type VehicleKeys,
  validVehicleKeys,
} from './vin-lists.ts';

/** A vehicle's answer as `writer` writes it. Throws VehicleNotFound, ManufacturerNotSupported and EligibilityInProgress. */
export async function getEligibilityText(ctx: Context, writer: RowWriter, { vin }: { vin: string }): Promise<string> {
  const company = authorize(ctx, 'fleets:read');
  const text = await readOneRowText(ctx, eligibilityResource, writer, { vin }, { company });
  // Only these answers need parsing.
  if (NO_ANSWER.some((status) => text.includes(status))) await needAnswer(ctx, JSON.parse(text));
  return text;
}

const NO_ANSWER = ['PENDING', 'UNSUPPORTED'] as const satisfies EligibilityStatus[];

async function needAnswer(ctx: Context, eligibility: Eligibility): Promise<void> {
  if (eligibility.status === 'UNSUPPORTED') throw new ManufacturerNotSupported(eligibility.manufacturer);
  if (eligibility.status === 'PENDING') {
    const { status, attempts, nextAttemptAt, reason } = eligibility;
    throw new EligibilityInProgress(eligibility.vin, await secondsToAnswer(ctx, nextAttemptAt), {
      eligibility: { status, attempts, nextAttemptAt, reason },
    });
  }
}

/**
 * A vehicle's answer, for which it waits up to `wait` seconds, or until the signal aborts. Throws VehicleNotFound,
 * ManufacturerNotSupported, EligibilityInProgress, and RateLimited, since waits count among a company's streams.
 */
export async function waitForEligibility(ctx: Context, given: { vin: string; wait: number; signal: AbortSignal }) {
  const { vin, wait, signal } = given;
  const company = authorize(ctx, 'fleets:read');
  const wanted = vinOrNull(vin) ?? '';
  const hear = ({ company: changed, vehicles }: EligibilityNews) =>
    changed === company && (vehicles?.some(([, one]) => one === wanted) ?? true);
  const answers = { listeners: { eligibility: hear, missed: () => true }, refresh: () => true };
  // Listening begins before the first look, so that an answer in between is not missed.
  const { follower, leave } = ctx.services.followers.join(['answer', company, wanted], () => answers, signal);
  const until = performance.now() + wait * 1000;
  // The news is ahead of replicas.
  const newest = contextOfNewestRead(ctx);
  try {
    for (;;) {
      const found = await readOneRow<Eligibility>(newest, eligibilityResource, { vin }, { company });
      if (found.status === 'PENDING' && (await follower.wait({ ms: until - performance.now(), signal }))) continue;
      await needAnswer(ctx, found);
      return found;
    }
  } finally {
    leave();
  }
}

/** The longest Retry-After: the queue may become shorter meanwhile. */
const LONGEST_WAIT_SECONDS = 900;
/** The longest Retry-After while no answers show a pace. */
const UNKNOWN_SECONDS = 60;
/** The seconds of answers that show the pace of a company. */
const PACE_SECONDS = 60;
const ANSWERS_LOOKED_AT = 100;
const VEHICLES_LOOKED_AT = 10_000;

/** The likely seconds until an answer, by the next attempt, the company's queue and its pace; never 0. */
async function secondsToAnswer(ctx: Context, nextAttemptAt: string | null): Promise<number> {
  if (nextAttemptAt === null) return 1;
  const away = (Date.parse(nextAttemptAt) - ctx.now().getTime()) / 1000;
  const seconds = away > 0 ? away : await secondsInLine(ctx, nextAttemptAt);
  return Math.min(Math.max(Math.ceil(seconds), 1), LONGEST_WAIT_SECONDS);
}

/** The company's answers after `since`, the seconds that they took, and the vehicles that are due before `dueAt`. */
const paceOfAnswers = prepare((p: { company: string; dueAt: string; now: Date; since: Date }) =>
  db
    .selectFrom((q) =>
      q
        .selectFrom('event')
        .select('at')
        .where('company', '=', p.company)
        .where('type', '=', sql.lit('eligibility.changed'))
        .where('position', 'is not', null)
        .orderBy('position', 'desc')
        .limit(ANSWERS_LOOKED_AT)
        .as('latest'),
    )
    .where('at', '>', asTimestamptz(p.since))
    .select((q) => [
      sql<number>`count(*)::int`.as('answers'),
      sql<number | null>`extract(epoch from ${p.now}::timestamptz - min(${q.ref('at')}))::float8`.as('seconds'),
      q
        .selectFrom(
          existingVehiclesQuery(p.company)
            .where('v.due_at', '<', asTimestamptz(p.dueAt))
            .limit(VEHICLES_LOOKED_AT)
            .as('first'),
        )
        .select(sql<number>`count(*)::int`.as('count'))
        .$asScalar()
        .$notNull()
        .as('before'),
    ]),
);

async function secondsInLine(ctx: Context, dueAt: string): Promise<number> {
  const company = authorize(ctx, 'fleets:read');
  const now = ctx.now();
  const since = Math.max(Date.parse(dueAt), now.getTime() - PACE_SECONDS * 1000);
  const [line] = await paceOfAnswers(ctx, { company, dueAt, now, since: new Date(since) }, 'read');
  const { before = 0, answers = 0 } = line ?? {};
  if (answers === 0) return Math.min(before, UNKNOWN_SECONDS);
  // If there were more answers, the time since the first of these counts.
  const seconds = answers < ANSWERS_LOOKED_AT ? (now.getTime() - since) / 1000 : (line?.seconds ?? 0);
  return (before * seconds) / answers;
}

/** A claimed vehicle is being verified right now. */
const makeDue = prepare((p: VehicleKeys & { now: Date }) => {
  const named = namedVehiclesQuery(p)
    .select('v.id')
    .where(fleetExistsExpression('v', p.company))
    .orderBy('v.vin')
    .forUpdate();
  const now = asTimestamptz(p.now);
  return db
    .with('v', (q) =>
      q
        .updateTable('vehicle')
        .set(({ ref }) => ({
          // A vehicle that is due already keeps its place.
          due_at: sql<string>`case when ${ref('claimed_by')} is not null and ${ref('due_at')} > ${now}
            then ${ref('due_at')} else least(${ref('due_at')}, ${now}) end`,
        }))
        .where('company', '=', p.company)
        .where('id', '=', anyOf(named))
        .returningAll(),
    )
    .selectFrom('v')
    .select(vehicleJsonExpression.as('json'));
});

/** Has vehicles verified again, later; gives their eligibilities in the order of the ids, then of the VINs. Throws PayloadTooLarge. */
export async function requestVerification(ctx: Context, input: unknown) {
  const company = authorize(ctx, 'fleets:write');
  const lists = readInput(requestVerificationInput, input, { longest: ctx.services.config.LIMIT_VINS });
  const named = validVehicleKeys(company, lists);
  return transaction(ctx, async () => {
    const vehicles = (await makeDue(ctx, { ...named, now: ctx.now() })).map(({ json }) => json);
    const byName = new Map(vehicles.flatMap((one) => [one.id, one.vin].map((name) => [name, one.eligibility])));
    const names = [...named.ids.map((id) => id.toLowerCase()), ...named.vins];
    const eligibilities = names.flatMap((name) => byName.get(name) ?? []);
    if (vehicles.length > 0) await scheduleNow(ctx, 'vehicle', company);
    return { eligibilities, notFound: missingVehicleKeys(lists, vehicles) };
  });
}

export function recheckHours(ctx: Context): Record<Exclude<EligibilityStatus, 'PENDING'>, number> {
  const { RECHECK_ELIGIBLE_DAYS, RECHECK_INELIGIBLE_DAYS, RECHECK_FAILED_DAYS } = ctx.services.config;
  return {
    ELIGIBLE: RECHECK_ELIGIBLE_DAYS * 24,
    INELIGIBLE: RECHECK_INELIGIBLE_DAYS * 24,
    UNSUPPORTED: RECHECK_INELIGIBLE_DAYS * 24,
    FAILED: RECHECK_FAILED_DAYS * 24,
  };
}

/** The time until the next verification, spread over a tenth, so that a big upload does not come due at once. */
export const recheckInterval = (hours: number | Expression<number>, vin: Expression<string>) =>
  sql`make_interval(hours => ${hours}) * (1 + ${hashFraction(vin)} / 10)`;
