import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { type Expected, needExpected } from '../errors.ts';
import { byCaller, bySystem, record } from '../events/record-events.ts';
import type { Fleet } from '../fleets/fleet.ts';
import { fleetRows, lockFleet } from '../fleets/fleets.ts';
import { forgetImportsOf } from '../imports/run.ts';
import { readOne } from '../sql/read.ts';
import { againAfterDeadlock, transaction } from '../sql/send.ts';
import { db, FIRST_ID, prepare, type RowKey } from '../sql/sql.ts';
import { removeVehicles } from '../vehicles/delete-vehicles.ts';

/** Vehicles of one deletion: additions of their VINs wait for it. */
const DELETED_AT_ONCE = 5000;

/** Deletes a fleet and gives it back; throws FleetNotFound and PreconditionFailed. deleteSome deletes a large one. */
export async function deleteFleet(caller: Context, input: { id: string }, expected?: Expected<Fleet>): Promise<Fleet> {
  const company = authorize(caller, 'fleets:write');
  // Writers lock a fleet before its vehicles; after a deadlock nevertheless, the deletion begins again.
  return againAfterDeadlock(caller, async (ctx) => {
    // A later statement than the lock sees all earlier changes.
    await lockFleet(ctx, company, input.id);
    const fleet = await readOne<Fleet>(ctx, fleetRows, input, { company, newest: true });
    needExpected(fleet, expected);
    const { id, name, vehicleCount } = fleet;
    if (vehicleCount > 0) ctx.services.changes.announceRemoval(company, null);
    if (vehicleCount > DELETED_AT_ONCE) {
      const { actor, request_id } = byCaller(ctx);
      await markDeleted(ctx, { company, id, deletion: JSON.stringify({ actor, request_id }) });
      ctx.services.changes.announce('due', 'fleet');
    } else {
      await removeVehicles(ctx, company, await lockAll(ctx, { company, id }));
      // Its tallies cascade: a transaction that added vehicles meanwhile breaks their foreign key and rolls back.
      await remove(ctx, { company, id });
    }
    await record(ctx, [{ type: 'fleet.deleted', company, fleetId: id, data: { name, vehicleCount } }]);
    return fleet;
  });
}

/** Deletes the tallies, while the vehicles remain. */
const markDeleted = prepare((p: RowKey & { deletion: string }) =>
  db
    .with('uncounted', (q) =>
      q.deleteFrom('vehicle_tally').where('company', '=', p.company).where('fleet_id', '=', p.id),
    )
    .updateTable('fleet')
    .set({ deletion: p.deletion })
    .where('company', '=', p.company)
    .where('id', '=', p.id),
);

const vehiclesIn = (p: RowKey) =>
  db.selectFrom('vehicle').select('id').where('company', '=', p.company).where('fleet_id', '=', p.id).forUpdate();

/** In the order of the VINs, as makeDue locks them, which holds no fleet. */
const lockAll = prepare((p: RowKey) => vehiclesIn(p).orderBy('vin'));

const remove = prepare((p: RowKey) => db.deleteFrom('fleet').where('company', '=', p.company).where('id', '=', p.id));

const find = prepare((_: object) =>
  db.selectFrom('fleet').select(['company', 'id']).where('deletion', 'is not', null).orderBy('company').orderBy('id'),
);

export const fleetsBeingDeleted = (ctx: Context): Promise<RowKey[]> => find(ctx, {});

const lock = prepare((p: RowKey) =>
  db
    .selectFrom('fleet')
    .select('deletion')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('deletion', 'is not', null)
    .forUpdate()
    .skipLocked(),
);

/** Vehicles of a step: additions of their VINs wait for it. */
const STEP_VEHICLES = 1000;

const lockSome = prepare((p: RowKey & { after: string }) =>
  vehiclesIn(p).where('id', '>', p.after).orderBy('id').limit(sql.lit(STEP_VEHICLES)),
);

/**
 * Deletes some vehicles of a deleted fleet, or the empty fleet, in its own transaction. Gives the id to go on after,
 * since deleted rows stay in the index for a while; null at the end.
 */
export async function deleteSome(ctx: Context, key: RowKey, after = FIRST_ID): Promise<string | null> {
  return transaction(ctx, async () => {
    const [fleet] = await lock(ctx, key);
    if (!fleet) return null;
    const vehicles = await lockSome(ctx, { ...key, after });
    const last = vehicles.at(-1);
    if (last) {
      await removeVehicles(ctx, key.company, vehicles, { ...bySystem(ctx), ...fleet.deletion });
      return last.id;
    }
    if (after !== FIRST_ID) return FIRST_ID;
    if (await forgetImportsOf(ctx, key.company, key.id)) return after;
    await remove(ctx, key);
    return null;
  });
}
