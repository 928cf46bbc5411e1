import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { ValidationFailed } from '../errors.ts';
import { record } from '../events/record-events.ts';
import { holdFleet, ownerOfFleet } from '../fleets/fleets.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import { readInput } from '../input.ts';
import { makeWay } from '../remove-vehicles.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { newId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { readVin } from '../vin.ts';
import {
  type NewVehicles,
  newVehicle,
  newVehicleColumns,
  newVehiclesOf,
  type ReadVin,
  warningsText,
} from './new-vehicle.ts';
import { countVehicles } from './tally.ts';
import type { Vehicle } from './vehicle.ts';
import { vehicleObject } from './vehicles.ts';
import { type AddedVehicles, type AddMode, addVehiclesInput } from './vin-lists.ts';

/**
 * Adds vehicles to a fleet; their verification is due with the same commit. A VIN that the fleet has counts as existing.
 * Throws FleetNotFound, PayloadTooLarge, and ValidationFailed (with the whole report in `details`) when every value is
 * rejected, or any in mode atomic. A dry run stores nothing and rejects nothing: it reports.
 */
export async function addVehicles(ctx: Context, input: unknown): Promise<AddedVehicles> {
  const company = authorize(ctx, 'fleets:write');
  const longest = ctx.services.config.LIMIT_VINS;
  const { fleetId, vins, mode, dryRun } = readInput(addVehiclesInput, input, { longest });
  return ctx.em.transactional(async () => {
    // Held, since the deletion of a large fleet does not undo what is added meanwhile.
    await (dryRun ? ownerOfFleet : holdFleet)(ctx, company, fleetId);
    const candidates = vins.map((value, index) => ({ index, value, reading: readVin(value) }));
    const wanted = new Set(candidates.flatMap(({ reading }) => ('vin' in reading ? [reading.vin] : [])));
    const { made, known } = dryRun
      ? { made: [], known: await knownVehicles(ctx, company, wanted) }
      : await addMissing(ctx, company, fleetId, wanted);
    const createdVins = new Set(made.map(({ vin }) => vin));
    await countVehicles(
      ctx,
      made.map(({ status }) => ({ company, fleetId, status, delta: 1 })),
    );

    const report: AddedVehicles = {
      summary: { received: vins.length, created: 0, existing: 0, rejected: 0 },
      vehicles: [],
      rejected: [],
    };
    const seen = new Set<string>();
    for (const { index, value, reading } of candidates) {
      if (!('vin' in reading)) {
        report.rejected.push({ index, value, code: reading.code, message: reading.message });
        continue;
      }
      const there = known.get(reading.vin);
      if (there && there.fleetId !== fleetId.toLowerCase()) {
        report.rejected.push({ index, value, ...inAnotherFleet });
        continue;
      }
      const first = !seen.has(reading.vin);
      seen.add(reading.vin);
      const created = first && (dryRun ? !there : createdVins.has(reading.vin));
      report.summary[created ? 'created' : 'existing'] += 1;
      if (there && first) report.vehicles.push(there);
    }
    report.summary.rejected = report.rejected.length;
    if (!dryRun) refuse(report, mode);
    if (made.length > 0) {
      await record(ctx, { type: 'vehicle.added', company, fleetId, vehicles: made });
      ctx.services.changes.announce('due', 'vehicle');
    }
    return report;
  });
}

export const inAnotherFleet = {
  code: 'VIN_IN_ANOTHER_FLEET',
  message:
    'Another fleet of your company has this vehicle. Move it to this one (moveVehicles), or delete it there first.',
};

function refuse(report: AddedVehicles, mode: AddMode): void {
  const { rejected, summary } = report;
  const all = rejected.length === summary.received;
  if (!all && !(mode === 'atomic' && rejected.length > 0)) return;
  throw new ValidationFailed(
    rejected.map(({ index, code, message }) => ({ path: `vins.${index}`, code, message })),
    all
      ? 'Every VIN was refused.'
      : `${rejected.length} of ${summary.received} VINs were refused, so nothing was stored (mode atomic).`,
    { summary: { ...summary, created: 0, existing: all ? 0 : summary.existing }, rejected },
  );
}

interface Columns {
  ids: readonly string[];
  vins: readonly string[];
  manufacturers: readonly (string | null)[];
  warnings: readonly (string | null)[];
  supported: readonly boolean[];
}

/**
 * One statement for the whole list: a flush per entity would cost ten times as much. Sorted, so that two lists in opposite
 * order cannot wait for each other.
 */
const insertNew = prepare((p: NewVehicles & Columns) =>
  db
    .insertInto('vehicle')
    .columns(newVehicleColumns)
    .expression((q) =>
      q
        .selectFrom(
          sql<ReadVin & { id: string }>`unnest(${p.ids}::uuid[], ${p.vins}::text[], ${p.manufacturers}::text[],
            ${p.warnings}::text[], ${p.supported}::boolean[])`.as<'r'>(
            sql`r(id, vin, manufacturer, warnings, supported)`,
          ),
        )
        .select('r.id')
        .select(newVehicle(p))
        .orderBy('r.vin'),
    )
    .onConflict((conflict) => conflict.columns(['company', 'vin']).doNothing())
    .returning(['id', 'vin', 'status']),
);

/**
 * Inserts what the company does not have yet; gives what that was, and all that it has then. What is neither inserted nor
 * there stands in a fleet that is being deleted, and makes way.
 */
async function addMissing(ctx: Context, company: string, fleetId: string, wanted: ReadonlySet<string>) {
  const made = await insertVehicles(ctx, company, fleetId, wanted);
  const known = await knownVehicles(ctx, company, wanted);
  const unseen = new Set([...wanted].filter((vin) => !known.has(vin)));
  if (unseen.size === 0) return { made, known };
  await makeWay(ctx, company, [...unseen]);
  const more = await insertVehicles(ctx, company, fleetId, unseen);
  return { made: [...made, ...more], known: await knownVehicles(ctx, company, wanted) };
}

/** Inserts what the company does not have yet and gives what that was. */
async function insertVehicles(ctx: Context, company: string, fleetId: string, wanted: ReadonlySet<string>) {
  const { manufacturers } = ctx.services;
  const vins = [...wanted];
  const warnings = vins.map((vin) => {
    const reading = readVin(vin);
    return 'warnings' in reading ? warningsText(reading) : null;
  });
  return insertNew(onPrimary(ctx), {
    ...newVehiclesOf(ctx, company, fleetId),
    ids: vins.map(() => newId()),
    vins,
    manufacturers: vins.map((vin) => manufacturers.manufacturerOf(vin)),
    warnings,
    supported: vins.map((vin) => manufacturers.supports(vin)),
  });
}

const withVins = prepare((p: { company: string; vins: readonly string[] }) =>
  db
    .selectFrom('vehicle as v')
    .select(vehicleObject.as('json'))
    .where('v.company', '=', p.company)
    .where('v.vin', '=', sql<string>`any(${p.vins}::text[])`)
    .where(ofFleetThatIsThere('v', p.company)),
);

async function knownVehicles(ctx: Context, company: string, vins: ReadonlySet<string>): Promise<Map<string, Vehicle>> {
  const rows = await withVins(onPrimary(ctx), { company, vins: [...vins] });
  return new Map(rows.map(({ json }) => [json.vin, json]));
}
