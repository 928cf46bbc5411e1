import { sql } from 'kysely';
import type { Context } from './context.ts';
import { prepare } from './sql/prepare.ts';
import { onPrimary } from './sql/send.ts';
import { db, type Tables } from './sql/tables.ts';

const tables: (keyof Tables)[] = [
  'fleet',
  'vehicle',
  'vehicle_tally',
  'contract',
  'import',
  'event',
  'webhook',
  'delivery',
];

/** Whatever the plan, fewer pages are read in no time. */
const FEW_PAGES = 8;

interface Grown {
  name: string;
}

/** A page has 8 kB. `relpages` is how many there were when the planner last looked. */
const findGrown = prepare((p: { names: readonly string[] }) =>
  db
    .selectFrom(
      sql<Grown>`(select relname::text as name from pg_class where relnamespace = 'public'::regnamespace
        and relname = any(${p.names}::text[]) and relkind = 'r'
        and pg_relation_size(oid) / 8192 > greatest(${FEW_PAGES}, 2 * relpages))`.as('grown'),
    )
    .select('grown.name'),
);

/**
 * Has the database look at tables that have doubled since it last did. Before statistics all indexes that begin with the company
 * are equally good to the planner, and plans from then are kept while millions of rows come. PostgreSQL looks by itself within a
 * minute or two, which is long after a large upload; the embedded database never does.
 */
export async function refreshStatistics(ctx: Context): Promise<void> {
  for (const { name } of await findGrown(onPrimary(ctx), { names: tables })) {
    await onPrimary(ctx)(`analyze (skip_locked) ${name}`, []);
  }
}
