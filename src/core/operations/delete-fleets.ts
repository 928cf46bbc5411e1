import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { transaction } from '../database.ts';
import { type Precondition, requirePrecondition } from '../errors.ts';
import { callerOrigin, recordEvents, systemOrigin } from '../events/record-events.ts';
import type { Fleet } from '../fleets/fleet.ts';
import { fleetResource, lockFleet } from '../fleets/fleets.ts';
import { deleteFleetImports } from '../imports/import-run.ts';
import { readOneRow } from '../sql/read.ts';
import { db, LOWEST_ID, prepare, type RowKey } from '../sql/sql.ts';
import { removeLockedVehicles } from '../vehicles/delete-vehicles.ts';

/** Vehicles of one deletion: additions of their VINs wait for it. */
const VEHICLES_AT_ONCE = 5000;
/** Contracts and rejected rows of files that one statement deletes within its time. */
const DEPENDENTS_AT_ONCE = 20_000;

/** Deletes a fleet and gives it back; throws FleetNotFound and PreconditionFailed. deleteFleetStep deletes a large one. */
export async function deleteFleet(ctx: Context, input: { id: string }, expected?: Precondition<Fleet>) {
  const company = authorize(ctx, 'fleets:write');
  // Writers lock a fleet before its vehicles; after a deadlock nevertheless, the deletion begins again.
  const deletion = async () => {
    // A later statement than the lock sees all earlier changes.
    await lockFleet(ctx, company, input.id);
    const fleet = await readOneRow<Fleet>(ctx, fleetResource, input, { company });
    requirePrecondition(fleet, expected);
    const { id, name, vehicleCount } = fleet;
    if (vehicleCount > 0) ctx.services.changes.announceRemoval(company, null);
    const [dependents] = await countDependents(ctx, { company, id });
    if (vehicleCount > VEHICLES_AT_ONCE || (dependents?.count ?? 0) > DEPENDENTS_AT_ONCE) {
      const { actor, request_id } = callerOrigin(ctx);
      await markDeleted(ctx, { company, id, deletion: JSON.stringify({ actor, request_id }) });
      ctx.services.changes.announce('due', 'fleet');
    } else {
      await removeLockedVehicles(ctx, company, await lockAll(ctx, { company, id }));
      // Its tallies cascade: a transaction that added vehicles meanwhile breaks their foreign key and rolls back.
      await remove(ctx, { company, id });
    }
    await recordEvents(ctx, [{ type: 'fleet.deleted', company, fleetId: id, data: { name, vehicleCount } }]);
    return fleet;
  };
  return transaction(ctx, deletion, { repeats: true });
}

const countDependents = prepare((p: RowKey) => {
  const ofFleet = <T extends 'contract' | 'import'>(table: T) =>
    sql`from ${sql.table(table)} where company = ${p.company} and fleet_id = ${p.id}`;
  return db.selectNoFrom(
    sql<number>`((select coalesce(sum(rejected), 0) ${ofFleet('import')}) +
      (select count(*) from (select ${ofFleet('contract')} limit ${sql.lit(DEPENDENTS_AT_ONCE + 1)}) c))::int`.as(
      'count',
    ),
  );
});

/** Deletes the tallies, while the vehicles remain. */
const markDeleted = prepare((p: RowKey & { deletion: string }) =>
  db
    .with('tallies', (q) => q.deleteFrom('vehicle_tally').where('company', '=', p.company).where('fleet_id', '=', p.id))
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

const FOUND_AT_ONCE = 100;

const find = prepare((p: RowKey) =>
  db
    .selectFrom('fleet')
    .select(['company', 'id'])
    .where('deletion', 'is not', null)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('company', 'id'), '>', tuple(p.company, p.id)))
    .orderBy('company')
    .orderBy('id')
    .limit(FOUND_AT_ONCE),
);

/** Some of the fleets that are being deleted, of those after one. */
export const findFleetsInDeletion = (ctx: Context, after?: RowKey): Promise<RowKey[]> =>
  find(ctx, after ?? { company: '', id: LOWEST_ID });

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
export async function deleteFleetStep(ctx: Context, key: RowKey, after = LOWEST_ID): Promise<string | null> {
  return transaction(ctx, async () => {
    const [fleet] = await lock(ctx, key);
    if (!fleet) return null;
    const vehicles = await lockSome(ctx, { ...key, after });
    const last = vehicles.at(-1);
    if (last) {
      await removeLockedVehicles(ctx, key.company, vehicles, { ...systemOrigin(ctx), ...fleet.deletion });
      return last.id;
    }
    if (after !== LOWEST_ID) return LOWEST_ID;
    if (await deleteFleetImports(ctx, key.company, key.id)) return after;
    await remove(ctx, key);
    return null;
  });
}
