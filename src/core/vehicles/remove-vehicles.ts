import type { Selectable } from 'kysely';
import type { Context } from '../context.ts';
import { type By, bySystem, record } from '../events/record-events.ts';
import { removeContractsOfVehicles } from '../remove-contracts.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { anyId, anyOf, anyText } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';

// Vehicles of fleets that were deleted, while these are on their way out (core/operations/delete-fleets.ts).

type Deletion = NonNullable<Selectable<Tables['fleet']>['deletion']>;
interface Gone {
  id: string;
  deletion: Deletion | null;
  vehicles: { id: string; vin: string }[];
}

const removeVehicles = prepare((p: { company: string; ids: readonly string[] }) =>
  db.deleteFrom('vehicle').where('company', '=', p.company).where('id', '=', anyId(p.ids)),
);

/** Deletes locked vehicles with their contracts. Their tallies go with the fleet: nobody reads them any more. */
export async function removeFromFleets(ctx: Context, company: string, fleets: readonly Gone[]): Promise<void> {
  for (const { id, deletion, vehicles } of fleets) {
    const by: By = { ...bySystem(ctx), ...deletion };
    const ids = vehicles.map((one) => one.id);
    await removeContractsOfVehicles(ctx, company, ids, by);
    await removeVehicles(onPrimary(ctx), { company, ids });
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
