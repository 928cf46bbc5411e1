import { type AliasedExpression, type QueryCreator, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { db, jsonRecordset, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

interface Change {
  company: string;
  fleet_id: string;
  status: string;
  delta: number;
}

/** Counts changes of the open transaction, before it records events. A deleted fleet breaks a foreign key. */
export async function updateVehicleTally(ctx: Context, changes: readonly Change[]): Promise<void> {
  const sums = [...Map.groupBy(changes, ({ fleet_id, status }) => `${fleet_id} ${status}`).values()]
    .map((same) => ({ ...same[0], delta: same.reduce((sum, { delta }) => sum + delta, 0) }))
    .filter(({ delta }) => delta !== 0);
  if (sums.length > 0) await insertCounts(ctx, { sums: JSON.stringify(sums) });
}

const columns = ['company', 'fleet_id', 'status', 'delta'] as const;

const insertCounts = prepare((p: { sums: string }) => {
  const rows = jsonRecordset<Change, 'r'>('r', p.sums, 'company text, fleet_id uuid, status text, delta int');
  return db
    .insertInto('vehicle_tally')
    .columns(columns)
    .expression((q) => q.selectFrom(rows).select(columns));
});

/** A `with` clause that counts the vehicles which another clause adds (1) or deletes (-1). */
export const tallyClause = (
  q: QueryCreator<Tables>,
  sign: 1 | -1,
  written: AliasedExpression<Pick<Selectable<Tables['vehicle']>, 'company' | 'fleet_id' | 'status'>, 'w'>,
) =>
  q
    .insertInto('vehicle_tally')
    .columns(columns)
    .expression(
      db
        .selectFrom(written)
        .select(['company', 'fleet_id', 'status', sql<number>`${sql.lit(sign)} * count(*)`.as('delta')])
        .groupBy(['company', 'fleet_id', 'status']),
    );
