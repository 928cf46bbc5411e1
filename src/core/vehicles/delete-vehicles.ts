import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { type Expected, NothingToDelete, needExpected, VehicleNotFound } from '../errors.ts';
import { record } from '../events/record-events.ts';
import { holdFleet } from '../fleets/fleets.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import { readInput } from '../input.ts';
import { removeContractsOfVehicles } from '../remove-contracts.ts';
import { againAfterDeadlock, ChangedMeanwhile } from '../sql/deadlock.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { vinOrNull } from '../vin.ts';
import { countVehicles } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { vehicleObject } from './vehicles.ts';
import { type DeletedVehicles, deleteVehiclesInput } from './vin-lists.ts';

interface Own {
  company: string;
  id: string;
}

const holdItsFleet = prepare((p: Own) =>
  db
    .selectFrom('fleet as f')
    .innerJoin('vehicle as v', 'v.fleet_id', 'f.id')
    .where('f.company', '=', p.company)
    .where('v.company', '=', p.company)
    .where('v.id', '=', p.id)
    .where('f.deletion', 'is', null)
    .select('f.id')
    .forKeyShare('f'),
);

const lockVehicle = prepare((p: Own) =>
  db
    .selectFrom('vehicle as v')
    .select(vehicleObject.as('json'))
    .where('v.company', '=', p.company)
    .where('v.id', '=', p.id)
    .where(ofFleetThatIsThere('v', p.company))
    .forUpdate(),
);

/** Deletes one vehicle with its contracts and gives it back as it was; throws VehicleNotFound and PreconditionFailed. */
export async function deleteVehicle(
  caller: Context,
  input: { id: string },
  expected?: Expected<Vehicle>,
): Promise<Vehicle> {
  const company = authorize(caller, 'fleets:write');
  if (!isId(input.id)) throw new VehicleNotFound();
  const own = { company, id: input.id };
  return againAfterDeadlock(caller, async (ctx) => {
    // Its fleet before itself, like everybody: the opposite order would be a deadlock with the fleet's deletion.
    const [held] = await holdItsFleet(onPrimary(ctx), own);
    const [row] = await lockVehicle(onPrimary(ctx), own);
    if (!row) throw new VehicleNotFound();
    if (row.json.fleetId !== held?.id) throw new ChangedMeanwhile();
    needExpected(row.json, expected);
    await removeVehicles(ctx, company, row.json.fleetId, [row.json]);
    return row.json;
  });
}

/** In the order of the VINs, as addVehicles writes them: opposite orders would wait for each other. */
const lockVehicles = prepare(
  (p: { company: string; fleetId: string; ids: readonly string[]; vins: readonly string[] }) =>
    db
      .selectFrom('vehicle as v')
      .select(['v.id', 'v.vin'])
      .where('v.company', '=', p.company)
      .where('v.fleet_id', '=', p.fleetId)
      .where(({ eb }) =>
        eb.or([
          eb('v.id', '=', sql<string>`any(${p.ids}::uuid[])`),
          eb('v.vin', '=', sql<string>`any(${p.vins}::text[])`),
        ]),
      )
      .orderBy('v.vin')
      .forUpdate(),
);

/**
 * Deletes the vehicles of a fleet that `ids` or `vins` name, with their contracts.
 * Throws NothingToDelete when neither names any, PayloadTooLarge, and FleetNotFound.
 */
export async function deleteVehicles(ctx: Context, input: unknown): Promise<DeletedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const { fleetId, ids, vins } = readInput(deleteVehiclesInput, input, {
    longest: ctx.services.config.LIMIT_VINS,
  });
  if (!ids?.length && !vins?.length) throw new NothingToDelete();
  return ctx.em.transactional(async () => {
    await holdFleet(ctx, company, fleetId);
    const deleted = await lockVehicles(onPrimary(ctx), {
      company,
      fleetId,
      ids: (ids ?? []).filter(isId),
      vins: (vins ?? []).map(vinOrNull).filter((vin) => vin !== null),
    });
    if (deleted.length > 0) await removeVehicles(ctx, company, fleetId, deleted);
    const goneIds = new Set(deleted.map((row) => row.id));
    const goneVins = new Set(deleted.map((row) => row.vin));
    return {
      deleted: deleted.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      notFound: {
        ids: (ids ?? []).filter((wanted) => !goneIds.has(wanted.toLowerCase())),
        vins: (vins ?? []).filter((wanted) => !goneVins.has(vinOrNull(wanted) ?? '')),
      },
    };
  });
}

const deleteAll = prepare((p: { company: string; ids: readonly string[] }) =>
  db
    .deleteFrom('vehicle')
    .where('company', '=', p.company)
    .where('id', '=', sql<string>`any(${p.ids}::uuid[])`)
    .returning('status'),
);

/** Deletes vehicles that are locked: no contract of theirs can come into being unseen between these statements. */
async function removeVehicles(ctx: Context, company: string, fleetId: string, vehicles: { id: string; vin: string }[]) {
  const ids = vehicles.map(({ id }) => id);
  await removeContractsOfVehicles(ctx, company, ids);
  const gone = await deleteAll(onPrimary(ctx), { company, ids });
  await countVehicles(
    ctx,
    gone.map(({ status }) => ({ company, fleetId, status, delta: -1 })),
  );
  await record(ctx, { type: 'vehicle.removed', company, fleetId, vehicles });
  ctx.services.changes.announceRemoval(company, vehicles);
}
