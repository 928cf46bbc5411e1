import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { NothingToDelete, VehicleNotFound } from '../errors.ts';
import { record } from '../events/record-events.ts';
import { holdFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { removingContracts } from '../remove-contracts.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { vinOrNull } from '../vin.ts';
import type { Vehicle } from './vehicle.ts';
import { vehicleObject } from './vehicles.ts';
import { type DeletedVehicles, deleteVehiclesInput } from './vin-lists.ts';

/** Deletes one vehicle with its contracts and gives it back as it was; throws VehicleNotFound. */
export async function deleteVehicle(ctx: Context, input: { id: string }): Promise<Vehicle> {
  const company = authorize(ctx, 'fleets:write');
  return ctx.em.transactional(async () => {
    if (!isId(input.id)) throw new VehicleNotFound();
    const own = sql`v.company = ${company} and v.id = ${input.id}`;
    // Its fleet before itself, like everybody: the opposite order would be a deadlock with the fleet's deletion.
    await execute(
      onPrimary(ctx),
      sql`select from fleet f join vehicle v on v.fleet_id = f.id where ${own} for key share of f`,
    );
    const [row] = await execute<{ json: Vehicle }>(
      onPrimary(ctx),
      sql`select ${vehicleObject} as json from vehicle v where ${own} for update`,
    );
    if (!row) throw new VehicleNotFound();
    await removeVehicles(ctx, company, row.json.fleetId, [row.json]);
    return row.json;
  });
}

/**
 * Deletes the vehicles of a fleet that `ids` or `vins` name, with their contracts.
 * Throws NothingToDelete when neither names any, PayloadTooLarge, and FleetNotFound.
 */
export async function deleteVehicles(ctx: Context, input: unknown): Promise<DeletedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const { fleetId, ids, vins } = readInput(deleteVehiclesInput, input, {
    longest: ctx.services.config.LIMIT_VINS,
  });
  if (!ids?.length && !vins?.length) throw new NothingToDelete();
  return ctx.em.transactional(async () => {
    await holdFleet(ctx, company, fleetId);
    // Locked in the order of the VINs, as addVehicles writes them: opposite orders would wait for each other.
    const deleted = await execute<{ id: string; vin: string }>(
      onPrimary(ctx),
      sql`select v.id, v.vin from vehicle v
          where v.company = ${company} and v.fleet_id = ${fleetId}::uuid
            and (v.id = any(${(ids ?? []).filter(isId)}::uuid[])
              or v.vin = any(${(vins ?? []).map(vinOrNull).filter((vin) => vin !== null)}::text[]))
          order by v.vin for update`,
    );
    if (deleted.length > 0) await removeVehicles(ctx, company, fleetId, deleted);
    const goneIds = new Set(deleted.map((row) => row.id));
    const goneVins = new Set(deleted.map((row) => row.vin));
    return {
      deleted: deleted.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      notFound: {
        ids: (ids ?? []).filter((wanted) => !goneIds.has(wanted.toLowerCase())),
        vins: (vins ?? []).filter((wanted) => !goneVins.has(vinOrNull(wanted) ?? '')),
      },
    };
  });
}

/** Deletes vehicles that are locked: no contract of theirs can come into being unseen between these statements. */
async function removeVehicles(ctx: Context, company: string, fleetId: string, vehicles: { id: string; vin: string }[]) {
  const ids = sql`any(${vehicles.map(({ id }) => id)}::uuid[])`;
  await execute(onPrimary(ctx), sql`with ${removingContracts(ctx, sql`c.vehicle_id = ${ids}`)} select`);
  await execute(onPrimary(ctx), sql`delete from vehicle where id = ${ids}`);
  await record(ctx, { type: 'vehicle.removed', company, fleetId, vehicles });
  ctx.services.changes.announceRemoval(company, vehicles);
}
