import { type RawBuilder, sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { readInput } from '../input.ts';
import { type JsonPage, type Lines, type RowWriter, readJsonPage, readLines } from '../sql/json-page.ts';
import { type Page, pageSql, type Slice, sliceOf, textColumn } from '../sql/page.ts';
import { prepareVariants } from '../sql/prepare.ts';
import { jsonText, parseAll, type Selection } from '../sql/selection.ts';
import { ALL_ROWS, execute, onReplica } from '../sql/send.ts';
import { given, isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { type EligibilityStatus, type Vehicle, type VehiclesFilter, vehiclesFilter } from './vehicle.ts';
import { vehicleJson, vehiclesMatching } from './vehicles.ts';

interface Asked {
  filter?: VehiclesFilter | null | undefined;
}

/** A page of the vehicles of all fleets of the caller's company; with `fields`, only these members of them. */
export async function listVehicles(
  ctx: Context,
  { page, filter, fields }: Asked & { page: Page; fields?: Selection<Vehicle> | undefined },
): Promise<Slice<Vehicle>> {
  const { source, filtered } = sourceOf(ctx, filter);
  const { within, tail, text } = pageSql(page, 'v');
  const rows = await execute<{ json: string; text: string | null }>(
    onReplica(ctx, filtered ? ALL_ROWS : page.limit),
    sql`select ${jsonText(vehicleJson, fields)} as json ${textColumn(text)} from ${source} ${within} ${tail}`,
  );
  return sliceOf(parseAll<Vehicle>(rows), page, text && rows.map((row) => row.text));
}

/** A page of listVehicles as JSON. */
export const listAllVehiclesJson = async (
  ctx: Context,
  { page, filter, fields }: Asked & { page: Page; fields: Selection<Vehicle> },
): Promise<JsonPage> =>
  readJsonPage(ctx, { table: vehicleJson, selection: fields }, { ...sourceOf(ctx, filter), alias: 'v' }, page);

/** A page of listVehicles, each as `writer` writes it. */
export const linesOfCompany = async (
  ctx: Context,
  writer: RowWriter,
  { page, filter }: Asked & { page: Page },
): Promise<Lines> => readLines(ctx, writer, { ...sourceOf(ctx, filter), alias: 'v' }, page);

/** How many vehicles listVehicles has in all. Counts that were kept are read, not counted. */
export async function countVehicles(ctx: Context, filter?: VehiclesFilter | null): Promise<number> {
  const { eligibility: statuses, fleetIds, ...others } = readInput(vehiclesFilter, filter ?? {});
  if (Object.values(others).every((value) => value == null)) {
    const company = authorize(ctx, 'fleets:read');
    const [row] = await keptCount(onReplica(ctx, ALL_ROWS), { company, statuses, fleetIds: fleetIds?.filter(isId) });
    return row?.count ?? 0;
  }
  const [row] = await execute<{ count: number }>(
    onReplica(ctx, ALL_ROWS),
    sql`select count(*)::int as count from ${sourceOf(ctx, filter).source}`,
  );
  return row?.count ?? 0;
}

interface Kept {
  company: string;
  statuses: readonly EligibilityStatus[] | null | undefined;
  fleetIds: readonly string[] | null | undefined;
}

const keptCount = prepareVariants<Kept>()(['statuses', 'fleetIds'], (p, has) =>
  db
    .selectFrom('vehicle_tally as t')
    .select(({ ref }) => sql<number>`coalesce(sum(${ref('t.delta')}), 0)::int`.as('count'))
    .where('t.company', '=', p.company)
    .$if(has.statuses, (q) => q.where('t.status', '=', sql<EligibilityStatus>`any(${p.statuses}::text[])`))
    .$if(has.fleetIds, (q) => q.where('t.fleet_id', '=', sql<string>`any(${p.fleetIds}::uuid[])`)),
);

/**
 * The company's vehicles `v` that fit a filter: one fleet, and one status in it, is a matter of their indexes; by anything else,
 * rows are read in the order of the list until there are enough. Throws ValidationFailed.
 */
function sourceOf(ctx: Context, filter: VehiclesFilter | null | undefined) {
  const company = authorize(ctx, 'fleets:read');
  const { eligibility, fleetIds, reasonCode, actor, verifiedBefore, verifiedAfter, ...plain } = readInput(
    vehiclesFilter,
    filter ?? {},
  );
  const conditions = sql`${given(fleetIds, (ids) => sql`and ${among('v.fleet_id', ids.filter(isId), 'uuid')}`)}
    ${given(eligibility, (statuses) => sql`and ${among('v.status', statuses, 'text')}`)}
    ${given(reasonCode, (code) => sql`and v.reason->>'code' = ${code}`)}
    ${given(actor, (one) => sql`and v.reason->>'actor' = ${one}`)}
    ${given(verifiedBefore, (time) => sql`and v.verified_at < ${time}::timestamptz`)}
    ${given(verifiedAfter, (time) => sql`and v.verified_at >= ${time}::timestamptz`)}
    ${vehiclesMatching(plain)}`;
  return { source: sql`vehicle v where v.company = ${company} ${conditions}`, filtered: filter != null };
}

/** Of one value an index knows the order of what follows; of several it does not. */
const among = (column: string, values: readonly string[], type: 'text' | 'uuid'): RawBuilder<unknown> => {
  const [value, ...more] = values;
  const name = sql.ref(column);
  return value !== undefined && more.length === 0
    ? sql`${name} = ${value}::${sql.raw(type)}`
    : sql`${name} = any(${values}::${sql.raw(`${type}[]`)})`;
};
