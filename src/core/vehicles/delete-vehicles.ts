import { authorize, type Context } from '../context.ts';
import { type Expected, NothingToDelete, needExpected, VehicleNotFound } from '../errors.ts';
import { announceEvents, type By, byCaller, inBatches, recording } from '../events/record-events.ts';
import { holdingFleet, ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { contractsDeleted, deletingContracts, removed } from '../remove-contracts.ts';
import { againAfterDeadlock, ChangedMeanwhile } from '../sql/deadlock.ts';
import { prepare } from '../sql/prepare.ts';
import { readOne } from '../sql/read.ts';
import { onPrimary } from '../sql/send.ts';
import { anyId, isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { isNamed, type Named, namedBy, notFoundOf } from './named-vehicles.ts';
import { counting } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { vehicleObject, vehicleRows } from './vehicles.ts';
import { type DeletedVehicles, deleteVehiclesInput } from './vin-lists.ts';

interface Own {
  company: string;
  id: string;
}

/** Its fleet before itself, like everybody: the opposite order would be a deadlock with the fleet's deletion. */
const lockVehicle = prepare((p: Own) =>
  db
    .with('held', (q) =>
      q
        .selectFrom('fleet')
        .where('company', '=', p.company)
        .where('id', '=', (of) =>
          of.selectFrom('vehicle').select('fleet_id').where('company', '=', p.company).where('id', '=', p.id),
        )
        .where('deletion', 'is', null)
        .select('id')
        .forKeyShare(),
    )
    .selectFrom('vehicle as v')
    .select(vehicleObject.as('json'))
    .where('v.company', '=', p.company)
    .where('v.fleet_id', '=', (of) => of.selectFrom('held').select('held.id'))
    .where('v.id', '=', p.id)
    .forUpdate(),
);

/** Deletes one vehicle with its contracts and gives it back as it was; throws VehicleNotFound and PreconditionFailed. */
export async function deleteVehicle(
  caller: Context,
  input: { id: string },
  expected?: Expected<Vehicle>,
): Promise<Vehicle> {
  const company = authorize(caller, 'fleets:write');
  if (!isId(input.id)) throw new VehicleNotFound();
  const own = { company, id: input.id };
  return againAfterDeadlock(caller, async (ctx) => {
    const [row] = await lockVehicle(onPrimary(ctx), own);
    if (!row) {
      await readOne(ctx, vehicleRows, input, { company, send: onPrimary });
      // It has just been moved to a fleet that is not held.
      throw new ChangedMeanwhile();
    }
    needExpected(row.json, expected);
    await removeVehicles(ctx, company, [row.json]);
    return row.json;
  });
}

/** In the order of the VINs, as addVehicles writes them: opposite orders would wait for each other. */
const lockVehicles = prepare((p: Named & { company: string; fleetId: string }) =>
  db
    .with('held', holdingFleet({ company: p.company, id: p.fleetId }))
    .selectFrom('vehicle as v')
    .select(['v.id', 'v.vin'])
    .where('v.company', '=', p.company)
    .where('v.fleet_id', '=', (of) => of.selectFrom('held').select('held.id'))
    .where(isNamed(p))
    .orderBy('v.vin')
    .forUpdate(),
);

/**
 * Deletes the vehicles of a fleet that `ids` or `vins` name, with their contracts.
 * Throws NothingToDelete when neither names any, PayloadTooLarge, and FleetNotFound.
 */
export async function deleteVehicles(ctx: Context, input: unknown): Promise<DeletedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const { fleetId, ...lists } = readInput(deleteVehiclesInput, input, { longest: ctx.services.config.LIMIT_VINS });
  if (!lists.ids?.length && !lists.vins?.length) throw new NothingToDelete();
  return ctx.em.transactional(async () => {
    const named = { company, fleetId, ...namedBy(lists) };
    const deleted = isId(fleetId) ? await lockVehicles(onPrimary(ctx), named) : [];
    if (deleted.length > 0) await removeVehicles(ctx, company, deleted);
    else await ownerOfFleet(ctx, company, fleetId);
    return { deleted: deleted.toSorted((a, b) => (a.id < b.id ? -1 : 1)), notFound: notFoundOf(lists, deleted) };
  });
}

const remove = prepare((p: By & { company: string; ids: readonly string[] }) =>
  deletingContracts(p.company, removed('c.vehicle_id', '=', anyId(p.ids)))
    .with('gone', (q) =>
      q
        .deleteFrom('vehicle')
        .where('company', '=', p.company)
        .where('id', '=', anyId(p.ids))
        .returning(['company', 'fleet_id', 'id', 'vin', 'status']),
    )
    .with('counted', (q) => counting(q, -1, q.selectFrom('gone').select(['company', 'fleet_id', 'status']).as('w')))
    .with('told', (q) => {
      const gone = q.selectFrom('gone').select(['company', 'fleet_id', 'id', 'vin']).as('v');
      return recording(q, p, { 'contract.deleted': contractsDeleted(q, gone), 'vehicle.removed': inBatches(gone) });
    })
    .selectNoFrom([]),
);

/** By a statement of its own: only one that begins when the vehicles are locked sees all of their contracts. */
async function removeVehicles(ctx: Context, company: string, vehicles: { id: string; vin: string }[]) {
  await remove(onPrimary(ctx), { ...byCaller(ctx), company, ids: vehicles.map(({ id }) => id) });
  announceEvents(ctx);
  ctx.services.changes.announceRemoval(company, vehicles);
}
