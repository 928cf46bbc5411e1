import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { betweenSql, type Page, type Slice, sliceOf } from '../sql/page.ts';
import { execute, onPrimary } from '../sql/send.ts';
import type { Import } from './import.ts';
import { type ImportRow, importColumns, toImport } from './imports.ts';

/**
 * A page of imports for each of these fleets, oldest first, in one statement. In the order of their beginning: ids that
 * callers choose say nothing of the time.
 */
export async function importsOfFleets(
  ctx: Context,
  { fleetIds, page }: { fleetIds: readonly string[]; page: Page },
): Promise<Map<string, Slice<Import>>> {
  const company = authorize(ctx, 'fleets:read');
  const placeOf = (id: string) => sql`(select p.started_at, p.id from import p where p.id = ${id}::uuid)`;
  const between = betweenSql(page, sql`(i.started_at, i.id)`, placeOf);
  const order = page.backward ? sql`i.started_at desc, i.id desc` : sql`i.started_at, i.id`;
  const rows = await execute<ImportRow>(
    onPrimary(ctx),
    sql`select page.* from unnest(${fleetIds}::uuid[]) with ordinality parent(id, place)
        cross join lateral (
          select ${importColumns}, row_number() over (order by ${order}) as rank from import i
          where i.fleet_id = parent.id and i.company = ${company} ${between}
          order by ${order} limit ${page.limit + 1}
        ) page
        order by parent.place, page.rank`,
  );
  const byFleet = Map.groupBy(rows, (row) => row.fleet_id);
  return new Map(fleetIds.map((id) => [id, sliceOf((byFleet.get(id) ?? []).map(toImport), page)]));
}

/** How many imports importsOfFleets has in all for each fleet. */
export async function countImportsOfFleets(ctx: Context, fleetIds: readonly string[]): Promise<Map<string, number>> {
  const company = authorize(ctx, 'fleets:read');
  const rows = await execute<{ fleet_id: string; count: number }>(
    onPrimary(ctx),
    sql`select fleet_id, count(*)::int as count from import
        where fleet_id = any(${fleetIds}::uuid[]) and company = ${company} group by fleet_id`,
  );
  const counts = new Map(rows.map((row) => [row.fleet_id, row.count]));
  return new Map(fleetIds.map((id) => [id, counts.get(id) ?? 0]));
}
