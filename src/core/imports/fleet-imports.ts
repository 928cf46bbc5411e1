import { sql } from 'kysely';
import { authorize, type Context } from '../context.ts';
import { type Page, type Slice, sliceOf } from '../sql/page.ts';
import { prepare, prepareVariants } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';
import type { Import } from './import.ts';
import { importColumns, oneImport, toImport } from './imports.ts';

interface Paged {
  company: string;
  fleetIds: readonly string[];
  after: string | null;
  before: string | null;
  inclusive: true | null;
  backward: true | null;
  limit: number;
}

/** Compares an import's place in the order of their beginning with that of another one of the company. */
const placed = (operator: '<' | '>', orEqual: boolean, company: string, id: string) => {
  const place = db
    .selectFrom('import as p')
    .select(['p.started_at', 'p.id'])
    .where('p.id', '=', id)
    .where('p.company', '=', company);
  const own = oneImport.refTuple('import.started_at', 'import.id');
  return oneImport(own, orEqual ? `${operator}=` : operator, place.$asTuple('started_at', 'id'));
};

const pageOfEach = prepareVariants<Paged>()(['after', 'before', 'inclusive', 'backward'], (p, has) => {
  const direction = has.backward ? 'desc' : 'asc';
  return db
    .selectFrom(
      sql<{ id: string; place: number }>`unnest(${p.fleetIds}::uuid[]) with ordinality`.as<'parent'>(
        sql`parent(id, place)`,
      ),
    )
    .crossJoinLateral((of) =>
      of
        .selectFrom('import')
        .select(importColumns)
        .select(({ fn }) =>
          fn
            .agg<number>('row_number')
            .over((over) => over.orderBy('import.started_at', direction).orderBy('import.id', direction))
            .as('rank'),
        )
        .whereRef('import.fleet_id', '=', 'parent.id')
        .where('import.company', '=', p.company)
        .$if(has.after, (q) => q.where(placed('>', has.inclusive, p.company, p.after)))
        .$if(has.before, (q) => q.where(placed('<', has.inclusive, p.company, p.before)))
        .orderBy('import.started_at', direction)
        .orderBy('import.id', direction)
        .limit(p.limit)
        .as('page'),
    )
    .selectAll('page')
    .orderBy('parent.place')
    .orderBy('page.rank');
});

/**
 * A page of imports for each of these fleets, oldest first, in one statement. In the order of their beginning: ids that
 * callers choose say nothing of the time.
 */
export async function importsOfFleets(
  ctx: Context,
  { fleetIds, page }: { fleetIds: readonly string[]; page: Page },
): Promise<Map<string, Slice<Import>>> {
  const company = authorize(ctx, 'fleets:read');
  const { after, before, limit } = page;
  const rows = await pageOfEach(onPrimary(ctx), {
    company,
    fleetIds,
    after: after?.id ?? null,
    before: before?.id ?? null,
    inclusive: page.inclusive ?? null,
    backward: page.backward || null,
    limit: limit + 1,
  });
  const byFleet = Map.groupBy(rows, (row) => row.fleet_id);
  return new Map(fleetIds.map((id) => [id, sliceOf((byFleet.get(id) ?? []).map(toImport), page)]));
}

const countOfEach = prepare((p: { company: string; fleetIds: readonly string[] }) =>
  db
    .selectFrom('import')
    .select(['fleet_id', sql<number>`count(*)::int`.as('count')])
    .where('fleet_id', '=', sql<string>`any(${p.fleetIds}::uuid[])`)
    .where('company', '=', p.company)
    .groupBy('fleet_id'),
);

/** How many imports importsOfFleets has in all for each fleet. */
export async function countImportsOfFleets(ctx: Context, fleetIds: readonly string[]): Promise<Map<string, number>> {
  const company = authorize(ctx, 'fleets:read');
  const rows = await countOfEach(onPrimary(ctx), { company, fleetIds });
  const counts = new Map(rows.map((row) => [row.fleet_id, row.count]));
  return new Map(fleetIds.map((id) => [id, counts.get(id) ?? 0]));
}
