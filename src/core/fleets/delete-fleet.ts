import { authorize, type Context } from '../context.ts';
import { type Expected, needExpected } from '../errors.ts';
import { type By, byCaller, type Fact, inBatches, record, recording } from '../events/record-events.ts';
import { removeContractsOfFleet } from '../remove-contracts.ts';
import { prepare } from '../sql/prepare.ts';
import { againAfterDeadlock, onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';
import { DELETED_AT_ONCE, type Fleet } from './fleet.ts';
import { lockFleet, readFleet } from './fleets.ts';

/**
 * Deletes a fleet with its vehicles and contracts, and gives it back as it was; throws FleetNotFound and PreconditionFailed. Of a
 * large one nobody sees anything any more; its rows go in the background (core/operations/delete-fleets.ts), with their events.
 */
export async function deleteFleet(caller: Context, input: { id: string }, expected?: Expected<Fleet>): Promise<Fleet> {
  const company = authorize(caller, 'fleets:write');
  // Everybody locks a fleet before what is in it. Should somebody not, the deletion begins again.
  return againAfterDeadlock(caller, async (ctx) => {
    // Locked by a statement of its own: only the next one sees all that came before.
    await lockFleet(ctx, company, input.id);
    const fleet = await readFleet(ctx, company, input.id);
    needExpected(fleet, expected);
    const { name, vehicleCount } = fleet;
    const deleted: Fact = { type: 'fleet.deleted', company, fleetId: fleet.id, data: { name, vehicleCount } };
    if (vehicleCount > 0) ctx.services.changes.announceRemoval(company, null);
    if (vehicleCount > DELETED_AT_ONCE) {
      const { actor, request_id } = byCaller(ctx);
      await markDeleted(onPrimary(ctx), { company, id: fleet.id, deletion: JSON.stringify({ actor, request_id }) });
      await record(ctx, deleted);
      ctx.services.changes.announce('due', 'fleet');
      return fleet;
    }
    await removeContractsOfFleet(ctx, company, fleet.id);
    // Nobody else takes vehicles away while the fleet is locked.
    await tellOfVehicles(onPrimary(ctx), { ...byCaller(ctx), company, fleet_id: fleet.id });
    await removeVehicles(onPrimary(ctx), { company, fleet_id: fleet.id });
    // Its tallies go with it. Whoever has added vehicles unseen cannot count them any more, and is undone.
    await remove(onPrimary(ctx), { company, id: fleet.id });
    await record(ctx, deleted);
    return fleet;
  });
}

/** Records that all vehicles of a fleet are removed. */
const tellOfVehicles = prepare((p: By & { company: string; fleet_id: string }) => {
  const vehicles = db
    .selectFrom('vehicle')
    .select(['company', 'fleet_id', 'id', 'vin'])
    .where('company', '=', p.company)
    .where('fleet_id', '=', p.fleet_id);
  return recording(db, p, { 'vehicle.removed': inBatches(vehicles.as('v')) });
});

const markDeleted = prepare((p: { company: string; id: string; deletion: string }) =>
  db.updateTable('fleet').set({ deletion: p.deletion }).where('company', '=', p.company).where('id', '=', p.id),
);

const removeVehicles = prepare((p: { company: string; fleet_id: string }) =>
  db.deleteFrom('vehicle').where('company', '=', p.company).where('fleet_id', '=', p.fleet_id),
);

const remove = prepare((p: { company: string; id: string }) =>
  db.deleteFrom('fleet').where('company', '=', p.company).where('id', '=', p.id),
);
