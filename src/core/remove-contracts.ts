import {
  type AliasedExpression,
  type Expression,
  expressionBuilder,
  type QueryCreator,
  type Selectable,
  type SqlBool,
  sql,
} from 'kysely';
import type { Context } from './context.ts';
import { type By, byCaller, recording } from './events/record-events.ts';
import { isoSql } from './sql/selection.ts';
import { onPrimary } from './sql/send.ts';
import { anyId, prepare } from './sql/sql.ts';
import { db, type Tables } from './sql/tables.ts';

/** Writes conditions on the contracts `c` that are to be deleted. */
export const contractWhere = expressionBuilder<{ c: Tables['contract'] }, 'c'>();

/**
 * The `with` clause `c`, which deletes the contracts of a company (of any when null) that fit the condition. A contract that
 * another transaction is deleting is reported by that transaction.
 */
export const deletingContracts = (company: string | null, which: Expression<SqlBool>) =>
  db.with('c', (q) =>
    q
      .deleteFrom('contract as c')
      .where(which)
      .$if(company !== null, (c) => c.where('c.company', '=', company as string))
      .returningAll('c'),
  );

/** A vehicle that contracts were for. */
type Named = Pick<Selectable<Tables['vehicle']>, 'company' | 'id' | 'vin'>;

/** The data of an event of a contract `c`. */
const contractData = sql.raw<Record<string, unknown>>(
  `jsonb_build_object('name', c.name, 'pack', c.pack, 'from', ${isoSql('c.starts_at')}, 'to', ${isoSql('c.ends_at')})`,
);

/** Facts of the contracts of clause `c`; `vehicles` gives theirs, which may be deleted by the same statement. */
export const contractFacts = (
  q: QueryCreator<Tables & { c: Selectable<Tables['contract']> }>,
  vehicles: AliasedExpression<Named, 'v'>,
) =>
  q
    .selectFrom('c')
    .innerJoin(vehicles, (on) => on.onRef('v.company', '=', 'c.company').onRef('v.id', '=', 'c.vehicle_id'))
    .select(({ ref }) => [
      'c.company',
      'c.fleet_id',
      'c.id as contract_id',
      sql<string[]>`array[${ref('c.vehicle_id')}]`.as('vehicle_ids'),
      sql<string[]>`array[${ref('v.vin')}]`.as('vins'),
      contractData.as('data'),
    ]);

/** The `with` clauses `c` and `told`, which delete contracts and record that they are deleted. */
export const removing = (by: By, company: string | null, which: Expression<SqlBool>) =>
  deletingContracts(company, which).with('told', (q) =>
    recording(q, by, { 'contract.deleted': contractFacts(q, namesOf(company)) }),
  );

/** The vehicles of a company (of any when null), for contractFacts. */
export const namesOf = (company: string | null) =>
  db
    .selectFrom('vehicle')
    .select(['company', 'id', 'vin'])
    .$if(company !== null, (v) => v.where('company', '=', company as string))
    .as('v');

const removeOfFleet = prepare((p: By & { company: string; fleet_id: string }) =>
  removing(p, p.company, contractWhere('c.fleet_id', '=', p.fleet_id)).selectNoFrom([]),
);

/** Deletes the contracts of a fleet and records `contract.deleted` for each. */
export async function removeContractsOfFleet(ctx: Context, company: string, fleetId: string): Promise<void> {
  await removeOfFleet(onPrimary(ctx), { ...byCaller(ctx), company, fleet_id: fleetId });
}

const removeOfVehicles = prepare((p: By & { company: string; ids: readonly string[] }) =>
  removing(p, p.company, contractWhere('c.vehicle_id', '=', anyId(p.ids))).selectNoFrom([]),
);

/** Deletes the contracts of vehicles and records `contract.deleted` for each. */
export async function removeContractsOfVehicles(
  ctx: Context,
  company: string,
  ids: readonly string[],
  by = byCaller(ctx),
): Promise<void> {
  await removeOfVehicles(onPrimary(ctx), { ...by, company, ids });
}
