import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { VehicleNotFound } from '../errors.ts';
import { likePrefix, ownerOfFleet } from '../fleets/fleets.ts';
import { readInput } from '../input.ts';
import { type JsonPage, jsonWriter, type Lines, type RowWriter, readLines } from '../sql/json-page.ts';
import { jsonTable } from '../sql/json-table.ts';
import { type Page, pageSql, type Slice, sliceOf, textColumn, textsColumn } from '../sql/page.ts';
import { prepare, prepareVariants } from '../sql/prepare.ts';
import { everyMember, type JsonSql, json, jsonObject, jsonText, type Selection } from '../sql/selection.ts';
import { ALL_ROWS, execute, onReplica } from '../sql/send.ts';
import { given, isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { vinOrNull } from '../vin.ts';
import {
  type Eligibility,
  type EligibilityStatus,
  eligibility,
  type Vehicle,
  type VehicleFilter,
  vehicle,
  vehicleFilter,
} from './vehicle.ts';

/** One vehicle of the caller's company by its id or its VIN; throws VehicleNotFound. */
export const getVehicle = (ctx: Context, by: VehicleBy): Promise<Vehicle> => readVehicle(ctx, by, vehicleJson);

/** The eligibility of a vehicle of the caller's company, whatever its status; throws VehicleNotFound. */
export const getEligibility = (
  ctx: Context,
  by: { vin: string },
  from: typeof onReplica = onReplica,
): Promise<Eligibility> => readVehicle(ctx, by, eligibilityJson, from);

type VehicleBy = { id: string } | { vin: string };

async function readVehicle<T>(
  ctx: Context,
  by: VehicleBy,
  table: JsonSql<T>,
  from: typeof onReplica = onReplica,
): Promise<T> {
  const company = authorize(ctx, 'fleets:read');
  const [column, value] = 'id' in by ? [sql`v.id`, isId(by.id) ? by.id : null] : [sql`v.vin`, vinOrNull(by.vin)];
  const rows =
    value === null
      ? []
      : await execute<{ json: string }>(
          from(ctx),
          sql`select ${jsonText(table)} as json from vehicle v where v.company = ${company} and ${column} = ${value}`,
        );
  const [row] = rows;
  if (!row) throw new VehicleNotFound('id' in by ? undefined : 'No fleet has a vehicle with this VIN.');
  return JSON.parse(row.json);
}

/** The caller's vehicles with these ids, in their order; null where there is none. */
export async function vehiclesById(ctx: Context, ids: readonly string[]): Promise<(Vehicle | null)[]> {
  const company = authorize(ctx, 'fleets:read');
  const rows = await execute<{ json: Vehicle }>(
    onReplica(ctx),
    sql`select ${vehicleObject} as json from vehicle v where v.company = ${company} and v.id = any(${ids.filter(isId)}::uuid[])`,
  );
  const byId = new Map(rows.map(({ json }) => [json.id, json]));
  return ids.map((wanted) => byId.get(wanted.toLowerCase()) ?? null);
}

/**
 * A page of vehicles for each of these fleets, in one statement however many fleets there are; with
 * `fields`, only these members of them.
 */
export async function vehiclesOfFleets(
  ctx: Context,
  input: {
    fleetIds: readonly string[];
    page: Page;
    filter?: VehicleFilter | null | undefined;
    fields?: Selection<Vehicle> | undefined;
  },
): Promise<Map<string, Slice<Vehicle>>> {
  const company = authorize(ctx, 'fleets:read');
  const { within, tail, text } = pageSql(input.page, 'v');
  const rows = await execute<{ parent: string; vehicles: string | null; texts: (string | null)[] | null }>(
    onReplica(ctx, input.filter ? ALL_ROWS : input.fleetIds.length * input.page.limit),
    sql`select parent.id as parent, page.* from fleet parent
        cross join lateral (
          select string_agg(v.json, ',') as vehicles ${textsColumn(text, 'v')} from (
            select ${jsonText(vehicleJson, input.fields)} as json ${textColumn(text)} from vehicle v
            where v.company = parent.company and v.fleet_id = parent.id ${vehiclesMatching(input.filter)} ${within} ${tail}
          ) v
        ) page
        where parent.id = any(${input.fleetIds}::uuid[]) and parent.company = ${company}`,
  );
  const slices = new Map(
    rows.map(({ parent, vehicles, texts }) => [
      parent,
      sliceOf<Vehicle>(JSON.parse(`[${vehicles ?? ''}]`), input.page, texts),
    ]),
  );
  return new Map(input.fleetIds.map((id) => [id, slices.get(id) ?? sliceOf([], input.page)]));
}

interface Own {
  company: string;
  fleetIds: readonly string[];
}

const tallies = (p: Own) =>
  db
    .selectFrom('vehicle_tally as t')
    .innerJoin('fleet as f', 'f.id', 't.fleet_id')
    .select(['t.fleet_id', ({ ref }) => sql<number>`sum(${ref('t.delta')})::int`.as('count')])
    .where('t.fleet_id', '=', sql<string>`any(${p.fleetIds}::uuid[])`)
    .where('t.company', '=', p.company)
    .where('f.company', '=', p.company)
    .groupBy('t.fleet_id');

const keptCounts = prepareVariants<Own & { status: EligibilityStatus | null | undefined }>()(['status'], (p, has) =>
  tallies(p).$if(has.status, (q) => q.where('t.status', '=', p.status)),
);

type Counted = Own & { status: EligibilityStatus | null | undefined } & Record<
    'manufacturer' | 'vin',
    string | null | undefined
  >;

const counted = prepareVariants<Counted>()(['status', 'manufacturer', 'vin'], (p, has) =>
  db
    .selectFrom('vehicle as v')
    .select(['v.fleet_id', sql<number>`count(*)::int`.as('count')])
    .where('v.fleet_id', '=', sql<string>`any(${p.fleetIds}::uuid[])`)
    .where('v.company', '=', p.company)
    .$if(has.status, (q) => q.where('v.status', '=', p.status))
    .$if(has.manufacturer, (q) => q.where('v.manufacturer', '=', p.manufacturer))
    .$if(has.vin, (q) => q.where('v.vin', 'like', p.vin))
    .groupBy('v.fleet_id'),
);

/** How many vehicles vehiclesOfFleets has in all for each fleet. Counts that were kept are read, not counted. */
export async function countVehiclesOfFleets(
  ctx: Context,
  input: { fleetIds: readonly string[]; filter?: VehicleFilter | null | undefined },
): Promise<Map<string, number>> {
  const company = authorize(ctx, 'fleets:read');
  const { eligibility: status, manufacturer, vinStartsWith } = readInput(vehicleFilter, input.filter ?? {});
  const own = { company, fleetIds: input.fleetIds, status };
  const kept = manufacturer == null && vinStartsWith == null;
  const rows = kept
    ? await keptCounts(onReplica(ctx, input.fleetIds.length), own)
    : await counted(onReplica(ctx, ALL_ROWS), {
        ...own,
        manufacturer,
        vin: vinStartsWith && likePrefix(vinStartsWith),
      });
  const counts = new Map(rows.map((row) => [row.fleet_id, row.count]));
  return new Map(input.fleetIds.map((id) => [id, counts.get(id) ?? 0]));
}

const countsByStatus = prepare((p: Own) =>
  tallies(p)
    .select(({ ref }) => ref('t.status').$castTo<EligibilityStatus>().as('status'))
    .groupBy('t.status'),
);

/** How many vehicles of each status every one of these fleets has. */
export async function eligibilitySummaries(
  ctx: Context,
  fleetIds: readonly string[],
): Promise<Map<string, Record<EligibilityStatus, number>>> {
  const company = authorize(ctx, 'fleets:read');
  const rows = await countsByStatus(onReplica(ctx), { company, fleetIds });
  const none = { PENDING: 0, ELIGIBLE: 0, INELIGIBLE: 0, UNSUPPORTED: 0, FAILED: 0 };
  const summaries = new Map(fleetIds.map((id) => [id, { ...none }]));
  for (const row of rows) {
    const summary = summaries.get(row.fleet_id);
    if (summary) summary[row.status] = row.count;
  }
  return summaries;
}

/** A page of one fleet's vehicles as JSON; throws FleetNotFound. */
export async function listVehiclesJson(
  ctx: Context,
  input: { fleetId: string; page: Page; fields: Selection<Vehicle> },
): Promise<JsonPage> {
  const { lines, ...place } = await linesOfFleet(ctx, jsonWriter(vehicleJson, input.fields), input);
  return { json: `[${lines.join()}]`, ...place };
}

/** A page of one fleet's vehicles, each as `writer` writes it; throws FleetNotFound. */
export async function linesOfFleet(
  ctx: Context,
  writer: RowWriter,
  { fleetId, page }: { fleetId: string; page: Page },
): Promise<Lines> {
  const company = authorize(ctx, 'fleets:read');
  const ofFleet = sql`vehicle v where v.company = ${company} and v.fleet_id =
    (select id from fleet where id = ${isId(fleetId) ? fleetId : null}::uuid and company = ${company})`;
  const found = await readLines(ctx, writer, { source: ofFleet, alias: 'v' }, page);
  // Only an empty page leaves open whether there is such a fleet.
  if (found.last === null) await ownerOfFleet(ctx, company, fleetId);
  return found;
}

/** `and` conditions on vehicles `v` of a fleet; throws ValidationFailed. */
export function vehiclesMatching(filter: unknown) {
  const { eligibility, manufacturer, vinStartsWith } = readInput(vehicleFilter, filter ?? {});
  return sql`${given(eligibility, (status) => sql`and v.status = ${status}`)}
    ${given(manufacturer, (slug) => sql`and v.manufacturer = ${slug}`)}
    ${given(vinStartsWith, (prefix) => sql`and v.vin like ${likePrefix(prefix)}`)}`;
}

const ofVin = { vin: json.code('v.vin'), manufacturer: json.orNull(json.code('v.manufacturer')) };

const eligibilityJson = jsonTable('vehicle', 'v', eligibility, {
  ...ofVin,
  eligible: { sql: `case v.status when 'ELIGIBLE' then 'true' when 'INELIGIBLE' then 'false' else 'null' end` },
  nextAttemptAt: json.orNull(json.time('case when not v.claimed then v.due_at end')),
});

export const vehicleJson = jsonTable('vehicle', 'v', vehicle, { ...ofVin, eligibility: eligibilityJson });

/** A Vehicle, from a row of a table named `v`. */
export const vehicleObject = jsonObject(vehicleJson).$castTo<Vehicle>();
export const everyVehicleMember = everyMember(vehicleJson);
