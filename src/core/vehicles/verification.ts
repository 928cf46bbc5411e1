import { sql } from 'kysely';
import type { Reason } from '../../manufacturers/provider.ts';
import type { Verification } from '../../manufacturers/registry.ts';
import type { Context } from '../context.ts';
import { type Fact, record } from '../events/record-events.ts';
import { holdFleetsOf } from '../fleets/fleets.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { type ClaimedVehicle, deadlineOf } from './due-vehicles.ts';
import { recheckAfter } from './eligibility.ts';
import type { EligibilityStatus } from './vehicle.ts';

/** Asks the manufacturer once. No transaction is open meanwhile. */
export async function askManufacturer(ctx: Context, vehicle: ClaimedVehicle): Promise<Verification> {
  const { vin, manufacturer, company } = vehicle;
  return ctx.services.manufacturers.verify(vin, manufacturer, { company, deadline: deadlineOf(ctx, vehicle) });
}

/** Delays grow as 1, 2, 4 … seconds, to a quarter of an hour, each spread by half so that retries do not march in step. */
const RETRY_CAP_SECONDS = 900;

/** What a manufacturer said of a vehicle. */
export interface Verified {
  vehicle: ClaimedVehicle;
  verification: Verification;
}

/**
 * Stores what the manufacturers said, in one transaction. An answer stands until it has aged; no answer leaves everything
 * as it was but for the next attempt, and what was not asked waits no longer than it must. Vehicles deleted meanwhile or
 * just now, and claims that have run out, are passed over.
 */
export async function storeVerifications(ctx: Context, done: readonly Verified[]): Promise<void> {
  const { changes } = ctx.services;
  await ctx.em.transactional(async () => {
    const stored = await updateVehicles(ctx, done);
    // Whoever waits for the next vehicle to come due thinks it is later than it now is.
    if (stored.some((row) => !row.answered)) changes.announce('due', 'vehicle');
    const answered = stored.filter((row) => row.answered);
    await record(ctx, ...answered.filter(({ was, status }) => was !== status).map(eligibilityChanged));
    for (const [company, rows] of Map.groupBy(answered, (row) => row.company)) changes.announceAnswers(company, rows);
  });
}

async function updateVehicles(ctx: Context, done: readonly Verified[]): Promise<StoredVehicle[]> {
  const now = ctx.now();
  const ids = done.map(({ vehicle }) => vehicle.id);
  const fleets = await holdFleetsOf(ctx, ids);
  return execute<StoredVehicle>(
    onPrimary(ctx),
    sql`with fact as (
          select * from jsonb_to_recordset(${JSON.stringify(done.map(factOf))}::jsonb) as f(
            id uuid, until timestamptz, status text, reason jsonb, raw_answer jsonb, asked boolean, retry_after real,
            manufacturer text, data_delivery jsonb, connectivity_status text, primary_user_assigned boolean)
        ), mine as (
          select v.id, v.status as was from vehicle v join fact on fact.id = v.id
          where v.claimed and v.due_at = fact.until and v.fleet_id = any(${fleets}::uuid[]) order by v.vin for update of v
        ), answered as (
          update vehicle v set
            status = fact.status, reason = fact.reason, raw_answer = fact.raw_answer,
            manufacturer = coalesce(fact.manufacturer, v.manufacturer),
            data_delivery = array(select jsonb_array_elements_text(fact.data_delivery)),
            connectivity_status = fact.connectivity_status, primary_user_assigned = fact.primary_user_assigned,
            attempts = v.faults + 1, faults = 0, verified_at = ${now}::timestamptz, claimed = false,
            due_at = ${now}::timestamptz + case fact.status
              when 'ELIGIBLE' then ${recheckAfter(ctx, 'ELIGIBLE')} when 'INELIGIBLE' then ${recheckAfter(ctx, 'INELIGIBLE')}
              when 'UNSUPPORTED' then ${recheckAfter(ctx, 'UNSUPPORTED')} else ${recheckAfter(ctx, 'FAILED')} end
          from fact, mine where fact.id = v.id and mine.id = v.id and fact.status <> 'PENDING'
          returning v.id, v.vin, v.company, v.fleet_id, v.manufacturer, mine.was, v.status, v.reason, true as answered
        ), unanswered as (
          update vehicle v set
            faults = v.faults + fact.asked::int, claimed = false,
            attempts = case when v.status = 'PENDING' then v.faults + fact.asked::int else v.attempts end,
            reason = case when v.status = 'PENDING' then coalesce(fact.reason, v.reason) else v.reason end,
            due_at = ${now}::timestamptz + make_interval(secs => case when fact.asked
              then greatest(fact.retry_after, least(${RETRY_CAP_SECONDS}, power(2, least(v.faults, 20))) * (0.75 + random() / 2))
              else fact.retry_after * (1 + random() / 4) end)
          from fact, mine where fact.id = v.id and mine.id = v.id and fact.status = 'PENDING'
          returning v.id, v.vin, v.company, v.fleet_id, v.manufacturer, mine.was, v.status, v.reason, false as answered
        )
        select * from answered union all select * from unanswered`,
  );
}

/** As the statement above reads it. */
const factOf = ({ vehicle, verification: v }: Verified) => ({
  id: vehicle.id,
  until: vehicle.until,
  status: v.status,
  reason: v.reason,
  raw_answer: v.raw ?? null,
  ...(v.status === 'PENDING'
    ? { asked: v.asked, retry_after: v.retryAfter ?? 0 }
    : {
        manufacturer: v.manufacturer,
        data_delivery: v.dataDelivery,
        connectivity_status: v.connectivityStatus,
        primary_user_assigned: v.primaryUserAssigned,
      }),
});

interface StoredVehicle {
  id: string;
  vin: string;
  company: string;
  fleet_id: string;
  manufacturer: string | null;
  was: EligibilityStatus;
  status: EligibilityStatus;
  reason: Reason | null;
  answered: boolean;
}

const eligibilityChanged = ({
  id,
  vin,
  company,
  fleet_id,
  manufacturer,
  was,
  status,
  reason,
}: StoredVehicle): Fact => ({
  type: 'eligibility.changed',
  company,
  fleetId: fleet_id,
  vehicles: [{ id, vin }],
  data: { from: was, to: status, manufacturer, reason },
});
