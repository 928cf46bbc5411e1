import { authorize, type Context, contextOfNewestRead } from '../context.ts';
import { byKeys, transaction } from '../database.ts';
import { NothingToMove } from '../errors.ts';
import { type EventFact, recordEvents } from '../events/record-events.ts';
import { existingFleetsQuery, shareLockFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { anyOf, anyOfIds, db, holdAdvisoryLock, prepare } from '../sql/sql.ts';
import { updateVehicleTally } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { findVehicles, isInFleets } from './vehicles.ts';
import {
  type MovedVehicles,
  missingVehicleKeys,
  moveVehiclesInput,
  namedVehiclesQuery,
  type VehicleKeys,
  validVehicleKeys,
} from './vin-lists.ts';

/** Moves vehicles with their contracts and answers; throws NothingToMove, PayloadTooLarge and FleetNotFound. */
export async function moveVehicles(ctx: Context, input: unknown): Promise<MovedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const { fleetId, ...lists } = readInput(moveVehiclesInput, input, { longest: ctx.services.config.LIMIT_VINS });
  if (!lists.ids?.length && !lists.vins?.length) throw new NothingToMove();
  return transaction(ctx, async () => {
    // Moves of a company take turns, so the vehicles cannot leave the fleets that are locked below.
    await holdAdvisoryLock(ctx, { name: JSON.stringify(['move', company]) });
    await shareLockFleet(ctx, company, fleetId);
    const named = validVehicleKeys(company, lists);
    const held = await holdTheirFleets(ctx, named);
    const found = await lockVehicles(ctx, { ...named, fleets: held.map(({ id }) => id) });
    await move(ctx, company, fleetId.toLowerCase(), found);
    return {
      moved: found.map(({ id, vin, fleet_id: from }) => ({ id, vin, from })).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      notFound: missingVehicleKeys(lists, found),
    };
  });
}

const holdTheirFleets = prepare((p: VehicleKeys) =>
  existingFleetsQuery(p.company)
    .select('id')
    .where('id', '=', anyOf(namedVehiclesQuery(p).select('v.fleet_id')))
    .orderBy('id')
    .forKeyShare(),
);

/** Locks vehicles in the order of the VINs, in which they are added and deleted. Vehicles of other fleets are new. */
const lockVehicles = prepare((p: VehicleKeys & { fleets: readonly string[] }) =>
  namedVehiclesQuery(p)
    .select(['v.id', 'v.vin', 'v.fleet_id', 'v.status'])
    .where(isInFleets(anyOfIds(p.fleets)))
    .orderBy('v.vin')
    .forNoKeyUpdate(),
);
type LockedVehicle = Awaited<ReturnType<typeof lockVehicles>>[number];

/** A later statement than the lock sees all contracts. */
const moveThem = prepare((p: { company: string; fleetId: string; ids: readonly string[] }) =>
  db
    .with('contracts', (q) =>
      q
        .updateTable('contract')
        .set({ fleet_id: p.fleetId })
        .where('company', '=', p.company)
        .where('vehicle_id', '=', anyOfIds(p.ids)),
    )
    .updateTable('vehicle')
    .set({ fleet_id: p.fleetId })
    .where('company', '=', p.company)
    .where('id', '=', anyOfIds(p.ids)),
);

/** Moves locked vehicles, with an event for each fleet that they leave or join. */
async function move(ctx: Context, company: string, to: string, found: readonly LockedVehicle[]): Promise<void> {
  const moving = found.filter(({ fleet_id: from }) => from !== to);
  if (moving.length === 0) return;
  // Each statement has its own time limit, and vehicles may have many contracts.
  await byKeys(
    moving.map(({ id }) => id),
    (ids) => moveThem(ctx, { company, fleetId: to, ids }),
  );
  const changes = moving.flatMap(({ fleet_id, status }) => [
    { company, fleet_id, status, delta: -1 },
    { company, fleet_id: to, status, delta: 1 },
  ]);
  await updateVehicleTally(ctx, changes);
  const facts = [...Map.groupBy(moving, ({ fleet_id: from }) => from)].flatMap(([from, vehicles]) =>
    [from, to].map((fleetId): EventFact => ({ type: 'vehicle.moved', company, fleetId, vehicles, data: { from, to } })),
  );
  await recordEvents(ctx, facts);
}

/** The moved vehicles, in the order of their ids, unless they were deleted since. */
export async function readMovedVehicles(ctx: Context, { moved }: MovedVehicles): Promise<Vehicle[]> {
  const company = authorize(ctx, 'fleets:write');
  const ids = moved.map(({ id }) => id);
  const newest = contextOfNewestRead(ctx);
  const rows = await byKeys(ids, (ids) => findVehicles(newest, { company, ids }, 'read'));
  return rows.map(({ json }) => json).toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
