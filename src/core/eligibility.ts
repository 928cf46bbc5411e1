import { sql } from 'kysely';
import { z } from 'zod';
import { announce, newsOf } from './changes.ts';
import { type Context, companyOf } from './context.ts';
import { EligibilityInProgress, ManufacturerNotSupported, VehicleNotFound } from './errors.ts';
import { mustBe, readInput } from './input.ts';
import { write } from './sql.ts';
import {
  type Eligibility,
  type EligibilityStatus,
  getEligibility,
  type Vehicle,
  vehicleObject,
  vinOrNull,
} from './vehicles.ts';

/**
 * The manufacturer's answer about a vehicle. Throws VehicleNotFound, ManufacturerNotSupported where nobody can be asked,
 * and EligibilityInProgress while there is none; waits up to `wait` seconds for one before that.
 */
export async function getAnswer(
  ctx: Context,
  input: { vin: string; wait?: number; signal?: AbortSignal },
): Promise<Eligibility> {
  const eligibility = await waitForAnswer(ctx, input);
  if (eligibility.status === 'UNSUPPORTED') throw new ManufacturerNotSupported(eligibility.manufacturer);
  if (eligibility.status === 'PENDING') {
    const { status, attempts, nextAttemptAt, reason } = eligibility;
    throw new EligibilityInProgress(eligibility.vin, secondsUntil(ctx, nextAttemptAt), {
      eligibility: { status, attempts, nextAttemptAt, reason },
    });
  }
  return eligibility;
}

async function waitForAnswer(
  ctx: Context,
  input: { vin: string; wait?: number; signal?: AbortSignal },
): Promise<Eligibility> {
  const company = companyOf(ctx, 'fleets:read');
  if (!input.wait) return getEligibility(ctx, input);
  const end = new AbortController();
  const signal = AbortSignal.any([
    end.signal,
    AbortSignal.timeout(input.wait * 1000),
    ...(input.signal ? [input.signal] : []),
  ]);
  try {
    for (;;) {
      // Listening begins before the look, so that an answer in between is not missed; and the news is ahead of replicas.
      const next = newsOf(ctx.services.changes, company, vinOrNull(input.vin) ?? '', signal);
      const eligibility = await getEligibility(ctx, input, write);
      if (eligibility.status !== 'PENDING' || !(await next)) return eligibility;
    }
  } finally {
    end.abort();
  }
}

/** Never 0, so that nobody asks in a tight loop; never over a minute, since an answer may come sooner. */
function secondsUntil(ctx: Context, time: string | null): number {
  const seconds = time ? Math.ceil((Date.parse(time) - ctx.now().getTime()) / 1000) : 1;
  return Math.min(Math.max(seconds, 1), 60);
}

export const verifyEligibilityInput = z.object({
  vins: z.array(z.string('must be a string'), mustBe('a list of VINs')).min(1, 'must hold at least one VIN'),
});

/**
 * Asks the manufacturers again about these vehicles, in the background. What is known stays visible until the new
 * answer is there. Throws VehicleNotFound when any VIN is in no fleet of the company, and PayloadTooLarge.
 */
export async function verifyEligibility(ctx: Context, input: unknown): Promise<Eligibility[]> {
  const company = companyOf(ctx, 'fleets:write');
  const { vins } = readInput(verifyEligibilityInput, input, { longest: ctx.services.config.LIMIT_VINS });
  const wanted = vins.map(vinOrNull);
  return ctx.em.transactional(async () => {
    // A claimed row is being asked about right now: its answer will be new enough.
    const rows = await write<{ json: Vehicle }>(
      ctx,
      sql`with wanted as (
            select v.id from vehicle v
            where v.company = ${company} and v.vin = any(${wanted.filter((vin) => vin !== null)}::text[])
            order by v.vin for update
          )
          update vehicle v set due_at = case when v.claimed and v.due_at > ${ctx.now()}::timestamptz then v.due_at else ${ctx.now()}::timestamptz end
          from wanted where v.id = wanted.id returning ${vehicleObject} as json`,
    );
    const byVin = new Map(rows.map(({ json }) => [json.vin, json.eligibility]));
    const found = wanted.map((vin, index) => {
      const eligibility = vin === null ? undefined : byVin.get(vin);
      if (!eligibility) throw new VehicleNotFound(`No fleet has a vehicle with the VIN ${vins[index]}.`);
      return eligibility;
    });
    await write(ctx, announce.due('vehicle'));
    return found;
  });
}

/** How long an answer is trusted, as SQL: spread over a tenth of the time, so that a big upload does not come due at once. */
export function recheckAfter(ctx: Context, status: Exclude<EligibilityStatus, 'PENDING'>) {
  const { RECHECK_ELIGIBLE_DAYS, RECHECK_INELIGIBLE_DAYS, RECHECK_FAILED_DAYS } = ctx.services.config;
  const days = {
    ELIGIBLE: RECHECK_ELIGIBLE_DAYS,
    INELIGIBLE: RECHECK_INELIGIBLE_DAYS,
    UNSUPPORTED: RECHECK_INELIGIBLE_DAYS,
    FAILED: RECHECK_FAILED_DAYS,
  }[status];
  return sql`make_interval(hours => ${days * 24}) * (1 + random() / 10)`;
}
