import type { Selectable } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { type Expected, NothingToDelete, needExpected, VehicleNotFound } from '../errors.ts';
import { announceEvents, type By, byCaller, bySystem, inBatches, record, recording } from '../events/record-events.ts';
import { holdingFleet, ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { contractsDeleted, deletingContracts, removeContractsOfVehicles, removed } from '../remove-contracts.ts';
import { prepare } from '../sql/prepare.ts';
import { readOne } from '../sql/read.ts';
import { againAfterDeadlock, ChangedMeanwhile, onPrimary, transaction } from '../sql/send.ts';
import { anyId, anyOf, anyText, isId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { counting } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { vehicleObject, vehicleRows } from './vehicles.ts';
import { type DeletedVehicles, deleteVehiclesInput, isNamed, type Named, namedBy, notFoundOf } from './vin-lists.ts';

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
  return transaction(ctx, async () => {
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

// Vehicles of fleets that were deleted, while these are on their way out (core/operations/delete-fleets.ts).

type Deletion = NonNullable<Selectable<Tables['fleet']>['deletion']>;
interface Gone {
  id: string;
  deletion: Deletion | null;
  vehicles: { id: string; vin: string }[];
}

const deleteRows = prepare((p: { company: string; ids: readonly string[] }) =>
  db.deleteFrom('vehicle').where('company', '=', p.company).where('id', '=', anyId(p.ids)),
);

/** Deletes locked vehicles with their contracts. Their tallies go with the fleet: nobody reads them any more. */
export async function removeFromFleets(ctx: Context, company: string, fleets: readonly Gone[]): Promise<void> {
  for (const { id, deletion, vehicles } of fleets) {
    const by: By = { ...bySystem(ctx), ...deletion };
    const ids = vehicles.map((one) => one.id);
    await removeContractsOfVehicles(ctx, company, ids, by);
    await deleteRows(onPrimary(ctx), { company, ids });
    await record(ctx, { type: 'vehicle.removed', company, fleetId: id, vehicles, by });
  }
}

const lockTheirs = prepare((p: { company: string; vins: readonly string[] }) =>
  db
    .selectFrom('fleet')
    .select(['id', 'deletion'])
    .where('company', '=', p.company)
    .where('deletion', 'is not', null)
    .where('id', '=', ({ selectFrom }) =>
      anyOf(
        selectFrom('vehicle').select('fleet_id').where('company', '=', p.company).where('vin', '=', anyText(p.vins)),
      ),
    )
    .orderBy('id')
    .forUpdate(),
);

const lockNamed = prepare((p: { company: string; vins: readonly string[]; fleets: readonly string[] }) =>
  db
    .selectFrom('vehicle')
    .select(['id', 'vin', 'fleet_id'])
    .where('company', '=', p.company)
    .where('vin', '=', anyText(p.vins))
    .where('fleet_id', '=', anyId(p.fleets))
    .orderBy('vin')
    .forUpdate(),
);

/** Deletes the vehicles with these VINs that stand in fleets that are being deleted: whoever adds them need not wait for it. */
export async function makeWay(ctx: Context, company: string, vins: readonly string[]): Promise<void> {
  const fleets = await lockTheirs(onPrimary(ctx), { company, vins });
  if (fleets.length === 0) return;
  const vehicles = await lockNamed(onPrimary(ctx), { company, vins, fleets: fleets.map(({ id }) => id) });
  const byFleet = Map.groupBy(vehicles, ({ fleet_id }) => fleet_id);
  const gone = fleets.map(({ id, deletion }) => ({ id, deletion, vehicles: byFleet.get(id) ?? [] }));
  await removeFromFleets(
    ctx,
    company,
    gone.filter((fleet) => fleet.vehicles.length > 0),
  );
}
