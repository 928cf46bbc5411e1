import type { Verification } from '../../manufacturers/registry.ts';
import type { Context } from '../context.ts';
import { type Fact, record } from '../events/record-events.ts';
import { mendedJson } from '../input.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { type ClaimedVehicle, deadlineOf } from './due-vehicles.ts';
import { recheckHours } from './eligibility.ts';
import { storeFacts } from './store-facts.ts';
import { countVehicles } from './tally.ts';

/** Asks the manufacturer once. No transaction is open meanwhile. */
export async function askManufacturer(ctx: Context, vehicle: ClaimedVehicle): Promise<Verification> {
  const { vin, manufacturer, company } = vehicle;
  return ctx.services.manufacturers.verify(vin, manufacturer, { company, deadline: deadlineOf(ctx, vehicle) });
}

/** What a manufacturer said of a vehicle. */
export interface Verified {
  vehicle: ClaimedVehicle;
  verification: Verification;
}

/**
 * Stores what the manufacturers said, in one transaction, and once more what moved meanwhile. An answer stands until it has aged; no answer leaves everything
 * as it was but for the next attempt, and what was not asked waits no longer than it must. Vehicles deleted meanwhile or
 * just now, and claims that have run out, are passed over.
 */
export async function storeVerifications(ctx: Context, done: readonly Verified[]): Promise<void> {
  const left = await storeOnce(ctx, done);
  // One that has just moved is in a fleet that was not held.
  if (left.length > 0) await storeOnce(ctx, left);
}

/** Gives what was passed over. */
async function storeOnce(ctx: Context, done: readonly Verified[]): Promise<Verified[]> {
  const { changes } = ctx.services;
  const all = await transaction(ctx, async () => {
    const stored = await updateVehicles(ctx, done);
    // Whoever waits for the next vehicle to come due thinks it is later than it now is.
    if (stored.some((row) => !row.answered)) changes.announce('due', 'vehicle');
    const answered = stored.filter((row) => row.answered);
    const changed = answered.filter(({ was, status }) => was !== status);
    await countVehicles(ctx, changed.flatMap(moved));
    await record(ctx, ...changed.map(eligibilityChanged));
    for (const [company, rows] of Map.groupBy(answered, (row) => row.company)) changes.announceAnswers(company, rows);
    return stored;
  });
  for (const { answered, status } of all) changes.emit('outcome', 'verification', answered ? status : 'NO_ANSWER', 1);
  const ids = new Set(all.map(({ id }) => id));
  return done.filter(({ vehicle }) => !ids.has(vehicle.id));
}

/** Each company's by statements of its own. */
async function updateVehicles(ctx: Context, done: readonly Verified[]): Promise<StoredVehicle[]> {
  const stored: StoredVehicle[] = [];
  for (const [company, own] of Map.groupBy(done, ({ vehicle }) => vehicle.company)) {
    const rows = await storeFacts(onPrimary(ctx), {
      company,
      process: ctx.services.changes.process,
      // What a provider sent is in it.
      facts: mendedJson(own.map(factOf)),
      ids: own.map(({ vehicle }) => vehicle.id),
      now: ctx.now(),
      ...recheckHours(ctx),
    });
    stored.push(...rows);
  }
  return stored;
}

/** As the statement reads it. */
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

type StoredVehicle = Awaited<ReturnType<typeof storeFacts>>[number];

const moved = ({ company, fleet_id: fleetId, was, status }: StoredVehicle) => [
  { company, fleetId, status: was, delta: -1 },
  { company, fleetId, status, delta: 1 },
];

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
