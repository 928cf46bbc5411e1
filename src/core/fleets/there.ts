import { type SqlBool, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';

// A large fleet that was deleted is there for nobody, though rows of it are (core/operations/delete-fleets.ts).

/** Vehicles that are deleted in one transaction at most: whoever waits for one of them, or to add one of their VINs, waits for so many. */
export const DELETED_AT_ONCE = 5000;

/** The condition that the fleet of a row of this name (a vehicle, a contract, an import) is there for anybody. */
export const fleetIsThere = (row: string): string => `not exists (select from fleet gone
  where gone.company = ${row}.company and gone.id = ${row}.fleet_id and gone.deletion is not null)`;
export const ofFleetThatIsThere = (row: string) => sql<SqlBool>`${sql.raw(fleetIsThere(row))}`;

const findOne = prepare((p: { company: string }) =>
  db
    .selectFrom('fleet')
    .select('id')
    .where('company', '=', p.company)
    .where('deletion', 'is not', null)
    .limit(sql.lit(1)),
);

/** Whether any fleet of the company is being deleted. */
export const isDeleting = async (ctx: Context, company: string): Promise<boolean> =>
  (await findOne(onPrimary(ctx), { company })).length > 0;
