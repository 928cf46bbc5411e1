import { sql } from 'kysely';
import type { Context } from '../context.ts';
import type { FleetKey } from '../fleets/fleets.ts';
import { removeFleet } from '../fleets/write-fleets.ts';
import { forgetImportsOf } from '../imports/run.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { FIRST_ID, prepare } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { removeFromFleet } from '../vehicles/delete-vehicles.ts';

const find = prepare((_: object) =>
  db.selectFrom('fleet').select(['company', 'id']).where('deletion', 'is not', null).orderBy('company').orderBy('id'),
);

/** The fleets that are being deleted, of all companies. Locks nothing. */
export const fleetsBeingDeleted = (ctx: Context): Promise<FleetKey[]> => find(onPrimary(ctx), {});

const lock = prepare((p: FleetKey) =>
  db
    .selectFrom('fleet')
    .select('deletion')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('deletion', 'is not', null)
    .forUpdate()
    .skipLocked(),
);

/** Others wait for one step to add the VIN of such a vehicle anew. */
const STEP_VEHICLES = 1000;

const lockSome = prepare((p: FleetKey & { after: string }) =>
  db
    .selectFrom('vehicle')
    .select(['id', 'vin'])
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.id)
    .where('id', '>', p.after)
    .orderBy('id')
    .limit(sql.lit(STEP_VEHICLES))
    .forUpdate(),
);

/**
 * Deletes some vehicles of a fleet that is being deleted, with their contracts, or the fleet itself when it has none left, in
 * a transaction of its own. A fleet that somebody else has locked is left to them. Gives the id behind which to go on, since
 * what was deleted before it stays in the index for a while and would be looked through again; null where nothing is left.
 */
export async function deleteSome(ctx: Context, place: FleetKey, after = FIRST_ID): Promise<string | null> {
  return transaction(ctx, async () => {
    const [fleet] = await lock(onPrimary(ctx), place);
    if (!fleet) return null;
    const vehicles = await lockSome(onPrimary(ctx), { ...place, after });
    if (vehicles.length > 0) {
      await removeFromFleet(ctx, place.company, { ...fleet, id: place.id }, vehicles);
      return vehicles.at(-1)?.id ?? after;
    }
    if (after !== FIRST_ID) return FIRST_ID;
    if (await forgetImportsOf(ctx, place.company, place.id)) return after;
    await removeFleet(onPrimary(ctx), place);
    return null;
  });
}
