import type { Context } from '../context.ts';
import { DELETED_AT_ONCE } from '../fleets/there.ts';
import { forgetImportsOf } from '../imports/forget.ts';
import { removeFromFleets } from '../remove-vehicles.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';

// A large fleet is gone for everybody as soon as it is deleted; its vehicles, which nobody sees any more, go in steps.

interface Place {
  company: string;
  id: string;
}

const find = prepare((_: object) =>
  db.selectFrom('fleet').select(['company', 'id']).where('deletion', 'is not', null).orderBy('company').orderBy('id'),
);

/** The fleets that are being deleted, of all companies. Locks nothing. */
export const fleetsBeingDeleted = (ctx: Context): Promise<Place[]> => find(onPrimary(ctx), {});

const lock = prepare((p: Place) =>
  db
    .selectFrom('fleet')
    .select('deletion')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('deletion', 'is not', null)
    .forUpdate()
    .skipLocked(),
);

const lockSome = prepare((p: Place) =>
  db
    .selectFrom('vehicle')
    .select(['id', 'vin'])
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.id)
    .orderBy('id')
    .limit(DELETED_AT_ONCE)
    .forUpdate(),
);

const remove = prepare((p: Place) => db.deleteFrom('fleet').where('company', '=', p.company).where('id', '=', p.id));

/**
 * Deletes some vehicles of a fleet that is being deleted, with their contracts, or the fleet itself when it has none left, in
 * a transaction of its own; gives whether there may be more. A fleet that somebody else has locked is left to them.
 */
export async function deleteSome(ctx: Context, place: Place): Promise<boolean> {
  return ctx.em.transactional(async () => {
    const [fleet] = await lock(onPrimary(ctx), place);
    if (!fleet) return false;
    const vehicles = await lockSome(onPrimary(ctx), place);
    if (vehicles.length > 0) {
      await removeFromFleets(ctx, place.company, [{ ...fleet, id: place.id, vehicles }]);
      return true;
    }
    if (await forgetImportsOf(ctx, place.company, place.id)) return true;
    await remove(onPrimary(ctx), place);
    return false;
  });
}
