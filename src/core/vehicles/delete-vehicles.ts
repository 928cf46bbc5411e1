import { type Selectable, sql } from 'kysely';
import { keepActiveClause } from '../activation/plan-activations.ts';
import { touchActivations } from '../activation/touch-activations.ts';
import { authorize, type Context } from '../context.ts';
import { ChangedMeanwhile, transaction } from '../database.ts';
import { NothingToDelete, type Precondition, requirePrecondition, VehicleNotFound } from '../errors.ts';
import { contractFactsQuery } from '../events/contract-facts.ts';
import {
  announceEvents,
  callerOrigin,
  type EventOrigin,
  eventsClause,
  systemOrigin,
  vehicleFactsQuery,
} from '../events/record-events.ts';
import { fleetExistsExpression } from '../fleets/fleet.ts';
import { existingFleetsQuery, lockedFleetClause, requireFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { readOneRow } from '../sql/read.ts';
import { anyOf, anyOfIds, db, isId, prepare, type RowKey } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { tallyClause } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { isInFleets, vehicleJsonExpression, vehicleResource } from './vehicles.ts';
import {
  type DeletedVehicles,
  deleteVehiclesInput,
  missingVehicleKeys,
  namedVehiclesQuery,
  type VehicleKeys,
  validVehicleKeys,
} from './vin-lists.ts';

/** Locks the fleet before the vehicle, in the order of the fleet's deletion: another order would be a deadlock. */
const lockVehicle = prepare((p: RowKey) => {
  const itsFleet = db.selectFrom('vehicle').select('fleet_id').where('company', '=', p.company).where('id', '=', p.id);
  return db
    .with('held', () => existingFleetsQuery(p.company).select('id').where('id', '=', itsFleet).forKeyShare())
    .selectFrom('vehicle as v')
    .select(vehicleJsonExpression.as('json'))
    .where('v.company', '=', p.company)
    .where(isInFleets(sql`(select id from held)`))
    .where('v.id', '=', p.id)
    .forUpdate();
});

/** Deletes a vehicle with its contracts and gives it back as it was; throws VehicleNotFound and PreconditionFailed. */
export async function deleteVehicle(ctx: Context, input: { id: string }, expected?: Precondition<Vehicle>) {
  const company = authorize(ctx, 'fleets:write');
  if (!isId(input.id)) throw new VehicleNotFound();
  const deletion = async () => {
    const [row] = await lockVehicle(ctx, { company, id: input.id });
    if (!row) {
      await readOneRow(ctx, vehicleResource, input, { company });
      // The vehicle was moved meanwhile to a fleet that is not locked.
      throw new ChangedMeanwhile();
    }
    requirePrecondition(row.json, expected);
    await removeLockedVehicles(ctx, company, [row.json]);
    ctx.services.changes.announceRemoval(company, [row.json]);
    return row.json;
  };
  return transaction(ctx, deletion, { repeats: true });
}

/** Locks vehicles in the order of the VINs, in which they are added: opposite orders would wait for each other. */
const lockVehicles = prepare((p: VehicleKeys & { fleetId: string }) =>
  namedVehiclesQuery(p, db.with('held', lockedFleetClause({ company: p.company, id: p.fleetId })))
    .select(['v.id', 'v.vin'])
    .where(isInFleets(sql`(select id from held)`))
    .orderBy('v.vin')
    .forUpdate(),
);

/** Deletes vehicles of a fleet with their contracts; throws NothingToDelete, PayloadTooLarge and FleetNotFound. */
export async function deleteVehicles(ctx: Context, input: unknown): Promise<DeletedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const { fleetId, ...lists } = readInput(deleteVehiclesInput, input, { longest: ctx.services.config.LIMIT_VINS });
  if (!lists.ids?.length && !lists.vins?.length) throw new NothingToDelete();
  return transaction(ctx, async () => {
    const named = { ...validVehicleKeys(company, lists), fleetId };
    const deleted = isId(fleetId) ? await lockVehicles(ctx, named) : [];
    if (deleted.length === 0) await requireFleet(ctx, company, fleetId);
    else ctx.services.changes.announceRemoval(company, deleted);
    await removeLockedVehicles(ctx, company, deleted);
    return {
      deleted: deleted.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      notFound: missingVehicleKeys(lists, deleted),
    };
  });
}

/** Vehicles of a deleted fleet have no tallies. */
const remove = prepare((p: EventOrigin & { company: string; ids: readonly string[] }) =>
  db
    .with('c', (q) =>
      q
        .deleteFrom('contract')
        .where('company', '=', p.company)
        .where('vehicle_id', '=', anyOfIds(p.ids))
        .returningAll(),
    )
    .with('deleted', (q) =>
      q
        .deleteFrom('vehicle')
        .where('company', '=', p.company)
        .where('id', '=', anyOfIds(p.ids))
        .returning(['company', 'fleet_id', 'id', 'vin', 'manufacturer', 'status']),
    )
    .with('counted', (q) => {
      const counted = q.selectFrom('deleted').select(['company', 'fleet_id', 'status']);
      return tallyClause(q, -1, counted.where(fleetExistsExpression('deleted', p.company)).as('w'));
    })
    .with('was_active', (q) =>
      keepActiveClause(q, q.selectFrom('deleted').select(['company', 'id', 'vin', 'manufacturer']).as('v')),
    )
    .with('recorded', (q) => {
      const vehicles = q.selectFrom('deleted').select(['company', 'fleet_id', 'id', 'vin', 'manufacturer']).as('v');
      return eventsClause(q, p, {
        'contract.deleted': contractFactsQuery(q, vehicles),
        'vehicle.removed': vehicleFactsQuery(vehicles),
      });
    })
    .selectFrom('deleted')
    .innerJoin('c', 'c.vehicle_id', 'deleted.id')
    .select(['deleted.company', 'deleted.vin']),
);

/** Deletes locked vehicles with their contracts: only a statement after the locking one sees all contracts. */
export async function removeLockedVehicles(
  ctx: Context,
  company: string,
  vehicles: readonly { id: string }[],
  by = callerOrigin(ctx),
) {
  if (vehicles.length === 0) return;
  await touchActivations(ctx, await remove(ctx, { ...by, company, ids: vehicles.map(({ id }) => id) }));
  announceEvents(ctx);
}

/** Locks the fleets in deletion, then their vehicles. */
const lockLeftover = prepare((p: { company: string; vins: readonly string[] }) => {
  const named = { company: p.company, ids: [], vins: p.vins };
  const fleets = db
    .selectFrom('fleet')
    .select(['id', 'deletion'])
    .where('company', '=', p.company)
    .where('deletion', 'is not', null)
    .where('id', '=', anyOf(namedVehiclesQuery(named).select('v.fleet_id')))
    .orderBy('id')
    .forUpdate();
  const deletion = sql<Selectable<Tables['fleet']>['deletion']>`(select deletion from held where held.id = v.fleet_id)`;
  return namedVehiclesQuery(
    named,
    db.with('held', () => fleets),
  )
    .select(['v.id', 'v.fleet_id', deletion.as('deletion')])
    .where(isInFleets(sql`any(array(select id from held))`))
    .orderBy('v.vin')
    .forUpdate();
});

/** Deletes the vehicles with these VINs that are in fleets that are being deleted. */
export async function deleteLeftoverVehicles(ctx: Context, company: string, vins: readonly string[]): Promise<void> {
  const byFleet = Map.groupBy(await lockLeftover(ctx, { company, vins }), ({ fleet_id }) => fleet_id);
  for (const vehicles of byFleet.values()) {
    await removeLockedVehicles(ctx, company, vehicles, { ...systemOrigin(ctx), ...vehicles[0]?.deletion });
  }
}
