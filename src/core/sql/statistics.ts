import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { type WriteOptions, write } from '../database.ts';
import { prepare } from './sql.ts';
import type { Tables } from './table-types.ts';

type Table = keyof Tables;
const names: Table[] = ['fleet', 'vehicle', 'vehicle_tally', 'contract', 'import', 'event', 'webhook', 'delivery'];

/** Fewer pages are read in no time by any plan, and fewer changed rows make no difference. */
const FEW_PAGES = 8;
const FEW_ROWS = 1000;

/** `relpages` (8 kB each) and `reltuples` are what the planner last saw, which is nothing of an open transaction. */
const findGrown = prepare(
  (p: { names: readonly string[]; vehicles: number }) =>
    sql<{ name: string }>`select c.relname::text as name
    from pg_class c left join pg_stat_user_tables s on s.relid = c.oid
    where c.oid = any(${p.names}::text[]::regclass[])
    and pg_relation_size(c.oid) / 8192 > ${FEW_PAGES}
    and (pg_relation_size(c.oid) / 8192 > 2 * c.relpages
      or s.n_mod_since_analyze > greatest(${FEW_ROWS}::float8, c.reltuples)
      or (c.relname = 'vehicle' and ${p.vehicles}::float8 > greatest(${FEW_ROWS}::float8, c.reltuples)))`,
);

/**
 * Has the database analyse tables that have doubled, for plans of small tables would stay for millions of rows:
 * PostgreSQL does so after a minute or two, the embedded database never. The open transaction has added `vehicles`.
 */
export async function refreshStatistics(ctx: Context, vehicles = 0, how?: WriteOptions): Promise<void> {
  // One column gives the number of rows and has plans made anew; upkeep analyses the others.
  const columns = vehicles > 0 ? ' (company)' : '';
  for (const { name } of await findGrown(ctx, { names, vehicles }, how)) {
    await write(ctx, `analyze (skip_locked) ${name}${columns}`, [], how);
  }
}

declare module '../context.ts' {
  interface Services {
    /** The rows that requests have added since statistics were last looked at. */
    grown: { rows: number };
  }
}

/** After fewer new rows, statistics are left to upkeep. */
const MANY_ROWS = 250;

/** After an addition, since many may come before upkeep does: a plan that was made for empty tables reads all rows for each of them. */
export async function refreshStatisticsAfter(ctx: Context, rows: number): Promise<void> {
  const { grown } = ctx.services;
  grown.rows += rows;
  if (grown.rows < MANY_ROWS) return;
  grown.rows = 0;
  // The rows are stored, whatever becomes of this, also in the transaction of an Idempotency-Key; upkeep comes back to it.
  await refreshStatistics(ctx, 0, { mayFail: true }).catch(() => {});
}
