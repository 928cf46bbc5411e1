import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { contractFacts } from '../contracts/contracts.ts';
import { type Expected, NothingToDelete, needExpected, VehicleNotFound } from '../errors.ts';
import { announceEvents, type By, byCaller, bySystem, inBatches, recording } from '../events/record-events.ts';
import { ofFleetThatIsThere } from '../fleets/fleet.ts';
import { existingFleets, holdingFleet, needFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { readOne } from '../sql/read.ts';
import { againAfterDeadlock, ChangedMeanwhile, transaction } from '../sql/send.ts';
import { anyId, anyOf, anyText, db, isId, prepare, type RowKey } from '../sql/sql.ts';
import { counting } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { vehicleObject, vehicleRows } from './vehicles.ts';
import {
  type DeletedVehicles,
  deleteVehiclesInput,
  namedBy,
  notFoundOf,
  type VehicleNames,
  vehiclesNamed,
} from './vin-lists.ts';

/** Locks the fleet before the vehicle, in the order of the fleet's deletion: another order would be a deadlock. */
const lockVehicle = prepare((p: RowKey) => {
  const itsFleet = db.selectFrom('vehicle').select('fleet_id').where('company', '=', p.company).where('id', '=', p.id);
  return db
    .with('held', () => existingFleets(p.company).select('id').where('id', '=', itsFleet).forKeyShare())
    .selectFrom('vehicle as v')
    .select(vehicleObject.as('json'))
    .where('v.company', '=', p.company)
    .where('v.fleet_id', '=', (of) => of.selectFrom('held').select('held.id'))
    .where('v.id', '=', p.id)
    .forUpdate();
});

/** Deletes a vehicle with its contracts and gives it back as it was; throws VehicleNotFound and PreconditionFailed. */
export async function deleteVehicle(caller: Context, input: { id: string }, expected?: Expected<Vehicle>) {
  const company = authorize(caller, 'fleets:write');
  if (!isId(input.id)) throw new VehicleNotFound();
  return againAfterDeadlock(caller, async (ctx) => {
    const [row] = await lockVehicle(ctx, { company, id: input.id });
    if (!row) {
      await readOne(ctx, vehicleRows, input, { company, newest: true });
      // The vehicle was moved meanwhile to a fleet that is not locked.
      throw new ChangedMeanwhile();
    }
    needExpected(row.json, expected);
    await removeVehicles(ctx, company, [row.json]);
    ctx.services.changes.announceRemoval(company, [row.json]);
    return row.json;
  });
}

/** In the order of the VINs, as addVehicles writes them: opposite orders would wait for each other. */
const lockVehicles = prepare((p: VehicleNames & { fleetId: string }) =>
  vehiclesNamed(p, db.with('held', holdingFleet({ company: p.company, id: p.fleetId })))
    .select(['v.id', 'v.vin'])
    .where('v.fleet_id', '=', sql<string>`(select id from held)`)
    .orderBy('v.vin')
    .forUpdate(),
);

/** Deletes vehicles of a fleet with their contracts; throws NothingToDelete, PayloadTooLarge and FleetNotFound. */
export async function deleteVehicles(ctx: Context, input: unknown): Promise<DeletedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const { fleetId, ...lists } = readInput(deleteVehiclesInput, input, { longest: ctx.services.config.LIMIT_VINS });
  if (!lists.ids?.length && !lists.vins?.length) throw new NothingToDelete();
  return transaction(ctx, async () => {
    const named = { ...namedBy(company, lists), fleetId };
    const deleted = isId(fleetId) ? await lockVehicles(ctx, named) : [];
    if (deleted.length === 0) await needFleet(ctx, company, fleetId);
    else ctx.services.changes.announceRemoval(company, deleted);
    await removeVehicles(ctx, company, deleted);
    return { deleted: deleted.toSorted((a, b) => (a.id < b.id ? -1 : 1)), notFound: notFoundOf(lists, deleted) };
  });
}

/** Vehicles of a deleted fleet have no tallies. */
const remove = prepare((p: By & { company: string; ids: readonly string[] }) =>
  db
    .with('c', (q) =>
      q.deleteFrom('contract').where('company', '=', p.company).where('vehicle_id', '=', anyId(p.ids)).returningAll(),
    )
    .with('deleted', (q) =>
      q
        .deleteFrom('vehicle')
        .where('company', '=', p.company)
        .where('id', '=', anyId(p.ids))
        .returning(['company', 'fleet_id', 'id', 'vin', 'status']),
    )
    .with('counted', (q) => {
      const counted = q.selectFrom('deleted').select(['company', 'fleet_id', 'status']);
      return counting(q, -1, counted.where(ofFleetThatIsThere('deleted', p.company)).as('w'));
    })
    .with('recorded', (q) => {
      const vehicles = q.selectFrom('deleted').select(['company', 'fleet_id', 'id', 'vin']).as('v');
      return recording(q, p, {
        'contract.deleted': contractFacts(q, vehicles),
        'vehicle.removed': inBatches(vehicles),
      });
    })
    .selectNoFrom([]),
);

/** Deletes locked vehicles with their contracts: only a statement after the locking one sees all contracts. */
export async function removeVehicles(
  ctx: Context,
  company: string,
  vehicles: readonly { id: string }[],
  by = byCaller(ctx),
) {
  if (vehicles.length === 0) return;
  await remove(ctx, { ...by, company, ids: vehicles.map(({ id }) => id) });
  announceEvents(ctx);
}

type WithVins = { company: string; vins: readonly string[] };

const withVins = (p: WithVins) =>
  db.selectFrom('vehicle').where('company', '=', p.company).where('vin', '=', anyText(p.vins));

const lockTheirs = prepare((p: WithVins) =>
  db
    .selectFrom('fleet')
    .select(['id', 'deletion'])
    .where('company', '=', p.company)
    .where('deletion', 'is not', null)
    .where('id', '=', anyOf(withVins(p).select('fleet_id')))
    .orderBy('id')
    .forUpdate(),
);

const lockNamed = prepare((p: WithVins & { fleets: readonly string[] }) =>
  withVins(p).select(['id', 'fleet_id']).where('fleet_id', '=', anyId(p.fleets)).orderBy('vin').forUpdate(),
);

/** Deletes the vehicles with these VINs that are in fleets that are being deleted. */
export async function makeWay(ctx: Context, company: string, vins: readonly string[]): Promise<void> {
  const fleets = await lockTheirs(ctx, { company, vins });
  if (fleets.length === 0) return;
  const vehicles = await lockNamed(ctx, { company, vins, fleets: fleets.map(({ id }) => id) });
  for (const { id, deletion } of fleets) {
    const own = vehicles.filter(({ fleet_id }) => fleet_id === id);
    await removeVehicles(ctx, company, own, { ...bySystem(ctx), ...deletion });
  }
}
