import type { z } from 'zod';
import { authorize, type Context } from '../context.ts';
import { ValidationFailed } from '../errors.ts';
import { requireFleet, shareLockFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { byKeys, isInTransaction, newestReadSender, runInSavepoint, runInTransaction } from '../sql/send.ts';
import { anyOfTexts, prepare } from '../sql/sql.ts';
import { readVin, type Vin } from '../vin.ts';
import { deleteLeftoverVehicles } from './delete-vehicles.ts';
import { insertVehicles, type VehiclesByVin } from './insert-vehicles.ts';
import { existingVehiclesQuery, vehicleJsonExpression } from './vehicles.ts';
import { type AddedVehicles, type AddMode, addVehiclesInput } from './vin-lists.ts';

/**
 * Adds vehicles to a fleet; their verification is due with the same commit. A VIN that the fleet has counts as
 * existing. Throws FleetNotFound, PayloadTooLarge, and ValidationFailed (with the whole report in `details`) when every
 * value is rejected, or any in mode atomic. A dry run stores nothing, and reports rejected values instead of throwing.
 */
export async function addVehicles(ctx: Context, input: unknown): Promise<AddedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const read = readInput(addVehiclesInput, input, { longest: ctx.services.config.LIMIT_VINS });
  const add = () => addList(ctx, company, read);
  // An atomic list may have to be undone.
  return read.mode === 'atomic' && !read.dryRun ? runInTransaction(ctx, add) : add();
}

async function addList(ctx: Context, company: string, read: z.output<typeof addVehiclesInput>) {
  const { vins, fleetId, mode, dryRun } = read;
  const list = vins.map((value, index) => ({ index, value, reading: readVin(value) }));
  const good = new Map(list.flatMap(({ reading }) => ('vin' in reading ? [[reading.vin, reading] as const] : [])));
  const { made, known } = await (dryRun ? findKnown : addMissing)(ctx, company, fleetId, [...good.values()]);
  const report: AddedVehicles = {
    summary: { received: list.length, created: 0, existing: 0, rejected: 0 },
    vehicles: [],
    rejected: [],
  };
  const seen = new Set<string>();
  for (const { index, value, reading } of list) {
    if (!('vin' in reading)) {
      report.rejected.push({ index, value, code: reading.code, message: reading.message });
      continue;
    }
    const { vin } = reading;
    const there = made.get(vin) ?? known.get(vin);
    if (there && there.fleetId !== fleetId.toLowerCase()) {
      report.rejected.push({ index, value, ...otherFleetRejection });
      continue;
    }
    const first = !seen.has(vin);
    seen.add(vin);
    const created = first && (dryRun ? !there : made.has(vin));
    report.summary[created ? 'created' : 'existing'] += 1;
    if (there && first) report.vehicles.push(there);
  }
  report.summary.rejected = report.rejected.length;
  if (!dryRun) refuse(report, mode);
  return report;
}

export const otherFleetRejection = {
  code: 'VIN_IN_ANOTHER_FLEET',
  message:
    'Another fleet of your company has this vehicle. Move it to this one (moveVehicles), or delete it there first.',
};

function refuse(report: AddedVehicles, mode: AddMode): void {
  const { rejected, summary } = report;
  const all = rejected.length === summary.received;
  if (!all && !(mode === 'atomic' && rejected.length > 0)) return;
  throw new ValidationFailed(
    rejected.map(({ index, code, message }) => ({ path: `vins.${index}`, code, message })),
    all
      ? 'Every VIN was rejected.'
      : `${rejected.length} of ${summary.received} VINs were rejected, so nothing was stored (mode atomic).`,
    { summary: { ...summary, created: 0, existing: 0 }, rejected },
  );
}

/** New vehicles and others of the company, by VIN. */
type VehicleMaps = { made: VehiclesByVin; known: VehiclesByVin };

/** Some VINs were in the way of the insertion, but were deleted a moment later. */
class Missing extends Error {
  vins: readonly Vin[] = [];
}

/** Adds missing VINs and finds the others; begins again for VINs that were just deleted. Throws FleetNotFound. */
async function addMissing(
  ctx: Context,
  company: string,
  fleetId: string,
  wanted: readonly Vin[],
  makingWay: readonly Vin[] = [],
): Promise<VehicleMaps> {
  const isOneStep = wanted.length === 1 && makingWay.length === 0;
  if (!isOneStep && !isInTransaction()) {
    const made = await insertVehicles(ctx, company, fleetId, wanted, { ifAllNew: true });
    if (made.size > 0) return { made, known: new Map() };
  }
  try {
    // The fleet may be deleted before the others are found: nothing is stored then.
    return await (isOneStep ? runInSavepoint : runInTransaction)(ctx, async () => {
      if (makingWay.length > 0) {
        await shareLockFleet(ctx, company, fleetId);
        await deleteLeftoverVehicles(ctx, company, vinsOf(makingWay));
      }
      const made = await insertVehicles(ctx, company, fleetId, wanted);
      if (made.size === wanted.length && made.size > 0) return { made, known: new Map() };
      const others = wanted.filter(({ vin }) => !made.has(vin));
      const { known } = await findKnown(ctx, company, fleetId, others);
      const missing = others.filter(({ vin }) => !known.has(vin));
      if (missing.length > 0) throw Object.assign(new Missing(), { vins: missing });
      return { made, known };
    });
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    // Adding these after others might wait for a transaction that waits for the others: a deadlock.
    return addMissing(ctx, company, fleetId, wanted, [...makingWay, ...error.vins]);
  }
}

const vinsOf = (read: readonly Vin[]): string[] => read.map(({ vin }) => vin);

const withVins = prepare((p: { company: string; vins: readonly string[] }) =>
  existingVehiclesQuery(p.company).select(vehicleJsonExpression.as('json')).where('v.vin', '=', anyOfTexts(p.vins)),
);

async function findKnown(ctx: Context, company: string, fleetId: string, vins: readonly Vin[]): Promise<VehicleMaps> {
  await requireFleet(ctx, company, fleetId);
  const rows = await byKeys(vinsOf(vins), (vins) => withVins(newestReadSender(ctx), { company, vins }));
  return { made: new Map(), known: new Map(rows.map(({ json }) => [json.vin, json])) };
}
