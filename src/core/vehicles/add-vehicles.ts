import type { z } from 'zod';
import { readVin, type Vin } from '../../vin-files/index.ts';
import { authorize, type Context, contextOfNewestRead } from '../context.ts';
import { counted } from '../counted.ts';
import { byKeys, ChangedMeanwhile, transaction } from '../database.ts';
import { ValidationFailed } from '../errors.ts';
import { requireFleet, shareLockFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { anyOfTexts, prepare } from '../sql/sql.ts';
import { refreshStatisticsAfter } from '../sql/statistics.ts';
import { deleteLeftoverVehicles } from './delete-vehicles.ts';
import { insertVehicles, type NewList, type VehiclesByVin } from './insert-vehicles.ts';
import { existingVehiclesQuery, vehicleJsonExpression } from './vehicles.ts';
import { type AddedVehicles, addVehiclesInput } from './vin-lists.ts';

/**
 * Adds vehicles to a fleet; their verification is due with the same commit. A VIN that the fleet has counts as
 * existing. Throws FleetNotFound, PayloadTooLarge, and ValidationFailed (with the whole report in `details`) when any
 * value is rejected in mode atomic. A dry run stores nothing, and reports rejected values instead of throwing.
 */
export async function addVehicles(ctx: Context, input: unknown): Promise<AddedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const read = readInput(addVehiclesInput, input, { longest: ctx.services.config.LIMIT_VINS });
  const add = () => addList(ctx, company, read);
  // An atomic list may have to be undone.
  const added = await (read.mode === 'atomic' && !read.dryRun ? transaction(ctx, add) : add());
  if (!read.dryRun) await refreshStatisticsAfter(ctx, added.summary.created);
  return added;
}

async function addList(ctx: Context, company: string, read: z.output<typeof addVehiclesInput>) {
  const { vins, fleetId, mode, dryRun } = read;
  const list = vins.map((value, index) => ({ index, value, reading: readVin(value) }));
  const good = new Map(list.flatMap(({ reading }) => ('vin' in reading ? [[reading.vin, reading] as const] : [])));
  const asked = { company, fleetId, wanted: [...good.values()] };
  const { made, known } = dryRun
    ? { made: new Map(), known: await findKnown(ctx, asked) }
    : await addMissing(ctx, asked);
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
  if (mode === 'atomic' && !dryRun && report.rejected.length > 0) refuse(report);
  return report;
}

export const otherFleetRejection = {
  code: 'VIN_IN_ANOTHER_FLEET',
  message:
    'Another fleet of your company has this vehicle. Move it (moveVehicles; REST: POST /vehicles/move), or delete it there first.',
};

/** For REST, where a list of which nothing is accepted is an error. */
export function refuseIfAllRejected(report: AddedVehicles): void {
  if (report.rejected.length === report.summary.received) refuse(report);
}

function refuse({ rejected, summary }: AddedVehicles): never {
  throw new ValidationFailed(
    rejected.map(({ index, code, message }) => ({ path: `vins.${index}`, code, message })),
    rejected.length === summary.received
      ? 'Every VIN was rejected.'
      : `Nothing was stored (mode atomic), because of ${counted(rejected.length, 'rejected VIN')} among ${summary.received}.`,
    { summary: { ...summary, created: 0, existing: 0 }, rejected },
  );
}

/** New vehicles and others of the company, by VIN. */
type VehicleMaps = { made: VehiclesByVin; known: VehiclesByVin };

/** Adds missing VINs and finds the others: all of it, or nothing. Throws FleetNotFound. */
const addMissing = (ctx: Context, list: NewList): Promise<VehicleMaps> =>
  transaction(ctx, addingSome(ctx, list), { repeats: true, atOnce: () => addAtOnce(ctx, list) });

/** Most lists are all new: a statement that adds all of them, or none, needs no transaction. null where some are there. */
async function addAtOnce(ctx: Context, list: NewList): Promise<VehicleMaps | null> {
  const isAlone = list.wanted.length === 1;
  const made = await insertVehicles(ctx, list, { ifAllNew: !isAlone });
  if (made.size > 0) return { made, known: new Map() };
  const known = isAlone ? await findKnown(ctx, list) : new Map();
  return known.size > 0 ? { made, known } : null;
}

/** Adds some and finds the others. VINs that are neither are those of fleets in deletion: the next try deletes these first. */
function addingSome(ctx: Context, list: NewList): () => Promise<VehicleMaps> {
  const { company, fleetId, wanted } = list;
  let leftover: string[] = [];
  return async () => {
    if (leftover.length > 0) {
      await shareLockFleet(ctx, company, fleetId);
      await deleteLeftoverVehicles(ctx, company, leftover);
    }
    const made = await insertVehicles(ctx, list);
    if (made.size > 0 && made.size === wanted.length) return { made, known: new Map() };
    const others = wanted.filter(({ vin }) => !made.has(vin));
    const known = await findKnown(ctx, { ...list, wanted: others });
    const missing = vinsOf(others).filter((vin) => !known.has(vin));
    if (missing.length === 0) return { made, known };
    // Adding these after others might wait for a transaction that waits for the others: a deadlock.
    leftover = [...leftover, ...missing];
    throw new ChangedMeanwhile();
  };
}

const vinsOf = (read: readonly Vin[]): string[] => read.map(({ vin }) => vin);

const withVins = prepare((p: { company: string; vins: readonly string[] }) =>
  existingVehiclesQuery(p.company).select(vehicleJsonExpression.as('json')).where('v.vin', '=', anyOfTexts(p.vins)),
);

async function findKnown(ctx: Context, { company, fleetId, wanted }: NewList): Promise<VehiclesByVin> {
  await requireFleet(ctx, company, fleetId);
  const newest = contextOfNewestRead(ctx);
  const rows = await byKeys(vinsOf(wanted), (vins) => withVins(newest, { company, vins }, 'read'));
  return new Map(rows.map(({ json }) => [json.vin, json]));
}
