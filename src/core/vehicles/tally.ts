import { type AliasedExpression, type QueryCreator, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { onPrimary } from '../sql/send.ts';
import { listRows, prepare } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';

/** A change of the number of vehicles of a status in a fleet. */
interface Change {
  company: string;
  fleetId: string;
  status: string;
  delta: number;
}

/**
 * Counts vehicles that the open transaction has added, changed or deleted; to be called after that, and before it records
 * events. A fleet that is gone breaks a foreign key, which undoes the transaction (docs/decisions/imports.md).
 */
export async function countVehicles(ctx: Context, changes: readonly Change[]): Promise<void> {
  const sums = [...Map.groupBy(changes, ({ fleetId, status }) => `${fleetId} ${status}`).values()]
    .map((same) => ({ ...(same[0] as Change), delta: same.reduce((sum, { delta }) => sum + delta, 0) }))
    .filter(({ delta }) => delta !== 0);
  if (sums.length === 0) return;
  await insertCounts(onPrimary(ctx), {
    companies: sums.map(({ company }) => company),
    fleets: sums.map(({ fleetId }) => fleetId),
    statuses: sums.map(({ status }) => status),
    deltas: sums.map(({ delta }) => delta),
  });
}

interface Counts {
  companies: readonly string[];
  fleets: readonly string[];
  statuses: readonly string[];
  deltas: readonly number[];
}

const insertCounts = prepare((p: Counts) =>
  db
    .insertInto('vehicle_tally')
    .columns(['company', 'fleet_id', 'status', 'delta'])
    .expression((q) =>
      q
        .selectFrom(
          listRows('r', {
            company: [p.companies, 'text'],
            fleet_id: [p.fleets, 'uuid'],
            status: [p.statuses, 'text'],
            delta: [p.deltas, 'int'],
          }),
        )
        .selectAll(),
    ),
);

/** A `with` clause that counts the vehicles which another clause adds (1) or deletes (-1). */
export const counting = (
  q: QueryCreator<Tables>,
  sign: 1 | -1,
  written: AliasedExpression<Pick<Selectable<Tables['vehicle']>, 'company' | 'fleet_id' | 'status'>, 'w'>,
) =>
  q
    .insertInto('vehicle_tally')
    .columns(['company', 'fleet_id', 'status', 'delta'])
    .expression(
      db
        .selectFrom(written)
        .select(['company', 'fleet_id', 'status', sql<number>`${sql.lit(sign)} * count(*)`.as('delta')])
        .groupBy(['company', 'fleet_id', 'status']),
    );
