import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { record, recordEach, vehicleBatches } from '../events/record-events.ts';
import { removingContracts } from '../remove-contracts.ts';
import { againAfterDeadlock } from '../sql/deadlock.ts';
import { execute, onPrimary } from '../sql/send.ts';
import type { Fleet } from './fleet.ts';
import { lockedFleet, readFleet } from './fleets.ts';

/** Deletes a fleet with its vehicles and contracts, and gives it back as it was; throws FleetNotFound. */
export async function deleteFleet(caller: Context, input: { id: string }): Promise<Fleet> {
  const company = authorize(caller, 'fleets:write');
  // Everybody locks a fleet before what is in it. Should somebody not, the deletion begins again.
  return againAfterDeadlock(caller, async (ctx) => {
    // Locked by a statement of its own: only the next one sees all that came before.
    await lockedFleet(ctx, company, input.id, sql`for update`);
    const fleet = await readFleet(ctx, onPrimary, company, input.id);
    await execute(onPrimary(ctx), sql`with ${removingContracts(ctx, sql`c.fleet_id = ${fleet.id}`)} select`);
    // Nobody else takes vehicles away while the fleet is locked, and its deletion takes them all.
    const vehicles = sql`select company, fleet_id, id, vin from vehicle where fleet_id = ${fleet.id}`;
    await execute(onPrimary(ctx), recordEach(ctx, 'vehicle.removed', vehicleBatches(vehicles)));
    await execute(onPrimary(ctx), sql`delete from fleet where id = ${fleet.id}`);
    const { name, vehicleCount } = fleet;
    await record(ctx, { type: 'fleet.deleted', company, fleetId: fleet.id, data: { name, vehicleCount } });
    if (vehicleCount > 0) ctx.services.changes.announceRemoval(company, null);
    return fleet;
  });
}
