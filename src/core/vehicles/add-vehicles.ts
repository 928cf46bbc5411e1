import { sql } from 'kysely';
import type { z } from 'zod';
import { authorize, type Context } from '../context.ts';
import { ValidationFailed } from '../errors.ts';
import { announceEvents, type By, byCaller, eventColumns, eventsOf, inBatches } from '../events/record-events.ts';
import { holdFleet, holdingFleet, ownerOfFleet } from '../fleets/fleets.ts';
import { ofFleetThatIsThere } from '../fleets/there.ts';
import { readInput } from '../input.ts';
import { makeWay } from '../remove-vehicles.ts';
import { prepare } from '../sql/prepare.ts';
import { isoOf } from '../sql/selection.ts';
import { append, onNewest, onPrimary, savepoint } from '../sql/send.ts';
import { isId, newId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { readVin, type Vin, type VinError } from '../vin.ts';
import {
  type NewVehicles,
  newVehicle,
  newVehicleColumns,
  newVehiclesOf,
  type ReadVin,
  shownNew,
  warningsText,
} from './new-vehicle.ts';
import { counting } from './tally.ts';
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
  const { vins, ...how } = readInput(addVehiclesInput, input, { longest });
  const list = vins.map((value, index) => ({ index, value, reading: readVin(value) }));
  const add = () => addList(ctx, company, list, how);
  // What is atomic may have to be undone.
  return how.mode === 'atomic' && !how.dryRun ? ctx.em.transactional(add) : add();
}

/** A value of a list, as it was sent and as it was read. */
interface Value {
  index: number;
  value: string;
  reading: Vin | VinError;
}
type How = Pick<z.output<typeof addVehiclesInput>, 'fleetId' | 'mode' | 'dryRun'>;

async function addList(ctx: Context, company: string, list: Value[], { fleetId, mode, dryRun }: How) {
  const wanted = new Map(list.flatMap(({ reading }) => ('vin' in reading ? [[reading.vin, reading] as const] : [])));
  const { made, known } = await (dryRun ? findKnown : addMissing)(ctx, company, fleetId, [...wanted.values()]);
  const report: AddedVehicles = {
    summary: { received: list.length, created: 0, existing: 0, rejected: 0 },
    vehicles: [],
    rejected: [],
  };
  const seen = new Set<string>();
  for (const { index, value, reading } of list) {
    if (!('vin' in reading)) {
      report.rejected.push({ index, value, code: reading.code, message: reading.message });
      continue;
    }
    const { vin } = reading;
    const there = made.get(vin) ?? known.get(vin);
    if (there && there.fleetId !== fleetId.toLowerCase()) {
      report.rejected.push({ index, value, ...inAnotherFleet });
      continue;
    }
    const first = !seen.has(vin);
    seen.add(vin);
    const created = first && (dryRun ? !there : made.has(vin));
    report.summary[created ? 'created' : 'existing'] += 1;
    if (there && first) report.vehicles.push(there);
  }
  report.summary.rejected = report.rejected.length;
  if (!dryRun) refuse(report, mode);
  return report;
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
 * One statement for the whole list, with its count and its events: nothing where the company has no such fleet. Sorted, so that
 * two lists in opposite order cannot wait for each other.
 */
const insertNew = prepare((p: NewVehicles & Columns & By) =>
  db
    .with('held', holdingFleet({ company: p.company, id: p.fleetId }))
    .with('made', (q) =>
      q
        .insertInto('vehicle')
        .columns(newVehicleColumns)
        .expression(
          q
            .selectFrom([
              'held',
              sql<ReadVin & { id: string }>`unnest(${p.ids}::uuid[], ${p.vins}::text[], ${p.manufacturers}::text[],
                ${p.warnings}::text[], ${p.supported}::boolean[])`.as<'r'>(
                sql`r(id, vin, manufacturer, warnings, supported)`,
              ),
            ])
            .select('r.id')
            .select(newVehicle(p))
            .orderBy('r.vin'),
        )
        .onConflict((conflict) => conflict.columns(['company', 'vin']).doNothing())
        .returning(['company', 'fleet_id', 'id', 'vin', 'status', 'due_at']),
    )
    .with('counted', (q) => counting(q, 1, q.selectFrom('made').select(['company', 'fleet_id', 'status']).as('w')))
    .with('told', (q) => {
      const facts = inBatches(q.selectFrom('made').select(['company', 'fleet_id', 'id', 'vin']).as('v'));
      return q
        .insertInto('event')
        .columns(eventColumns)
        .expression(eventsOf('vehicle.added', p, facts.as('f')));
    })
    .selectFrom('made')
    .select(({ ref }) => ['vin', isoOf(ref('due_at')).as('due')]),
);

/** Vehicles of a statement on shared connections: more would hold up those behind it. */
const MOST_SHARED = 50;

type Vehicles = ReadonlyMap<string, Vehicle>;
const NONE: Vehicles = new Map();

async function insertVehicles(ctx: Context, company: string, fleetId: string, wanted: readonly Vin[]) {
  if (wanted.length === 0 || !isId(fleetId)) return NONE;
  const { manufacturers } = ctx.services;
  const vehicles = wanted.map(({ vin, warnings }) => ({
    id: newId(),
    vin,
    manufacturer: manufacturers.manufacturerOf(vin),
    supported: manufacturers.supports(vin),
    warnings,
  }));
  const values = {
    ...newVehiclesOf(ctx, company, fleetId),
    ...byCaller(ctx),
    ids: vehicles.map(({ id }) => id),
    vins: vehicles.map(({ vin }) => vin),
    manufacturers: vehicles.map(({ manufacturer }) => manufacturer),
    warnings: wanted.map(warningsText),
    supported: vehicles.map(({ supported }) => supported),
  };
  const send = wanted.length > MOST_SHARED ? onPrimary : append;
  const rows = await savepoint(ctx, () => insertNew(send(ctx), values));
  if (rows.length === 0) return NONE;
  announceEvents(ctx);
  ctx.services.changes.announce('due', 'vehicle');
  const dueTimes = new Map(rows.map(({ vin, due }) => [vin, due]));
  const made = vehicles.filter(({ vin }) => dueTimes.has(vin));
  const at = values.now.toISOString();
  return new Map(made.map((one) => [one.vin, shownNew(ctx, one, { fleetId, at, due: dueTimes.get(one.vin) ?? at })]));
}

interface Found {
  made: Vehicles;
  /** Others that the company has. */
  known: Vehicles;
}

/**
 * Adds what the company does not have yet. What is neither added nor there stands in a fleet that is being deleted, and makes
 * way. Throws FleetNotFound.
 */
async function addMissing(ctx: Context, company: string, fleetId: string, wanted: readonly Vin[]): Promise<Found> {
  const made = await insertVehicles(ctx, company, fleetId, wanted);
  if (made.size === wanted.length && made.size > 0) return { made, known: NONE };
  const others = wanted.filter(({ vin }) => !made.has(vin));
  const { known } = await findKnown(ctx, company, fleetId, others);
  const unseen = others.filter(({ vin }) => !known.has(vin));
  if (unseen.length === 0) return { made, known };
  const more = await ctx.em.transactional(async () => {
    await holdFleet(ctx, company, fleetId);
    await makeWay(
      ctx,
      company,
      unseen.map(({ vin }) => vin),
    );
    return insertVehicles(ctx, company, fleetId, unseen);
  });
  const { known: now } = await findKnown(ctx, company, fleetId, others);
  return { made: new Map([...made, ...more]), known: now };
}

const withVins = prepare((p: { company: string; vins: readonly string[] }) =>
  db
    .selectFrom('vehicle as v')
    .select(vehicleObject.as('json'))
    .where('v.company', '=', p.company)
    .where('v.vin', '=', sql<string>`any(${p.vins}::text[])`)
    .where(ofFleetThatIsThere('v', p.company)),
);

/** Which of these the company has; throws FleetNotFound. */
async function findKnown(ctx: Context, company: string, fleetId: string, vins: readonly Vin[]): Promise<Found> {
  await ownerOfFleet(ctx, company, fleetId);
  const rows = await withVins(onNewest(ctx, vins.length), { company, vins: vins.map(({ vin }) => vin) });
  return { made: NONE, known: new Map(rows.map(({ json }) => [json.vin, json])) };
}
