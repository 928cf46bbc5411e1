import { type Expression, type SqlBool, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { db } from '../sql/tables.ts';

// A large fleet that was deleted is there for nobody, though rows of it are (core/operations/delete-fleets.ts).

/** Vehicles that are deleted in one transaction at most: whoever waits for one of them, or to add one of their VINs, waits for so many. */
export const DELETED_AT_ONCE = 5000;

/** The company's fleets that are there for nobody; looked up once for a statement. */
const gone = (company: string) =>
  `array(select gone.id from fleet gone where gone.company = ${company} and gone.deletion is not null)`;

/**
 * Within `coalesce`, which changes nothing, the planner takes this for true of half the rows. Else it reckons with ten fleets that
 * are gone: where a company has two, that would leave next to no rows, and not be worth an order's index.
 */
const isNoneOf = (row: string, company: string) => `coalesce(${row}.fleet_id <> all(${gone(company)}), true)`;

/** The condition that the fleet of a row of this name (a vehicle, a contract, an import) is there; `$company` is the company. */
export const fleetIsThere = (row: string): string => isNoneOf(row, '$company');

/** Whether that is so of all rows of the company. */
export const allFleetsAreThere = `${gone('$company')} = '{}'`;

/** fleetIsThere, looked up for each row: where the company is not known. */
export const itsFleetIsThere = (row: string): string => `not exists (select from fleet gone
  where gone.company = ${row}.company and gone.id = ${row}.fleet_id and gone.deletion is not null)`;

/** The same as fleetIsThere for rows of this company. */
export function ofFleetThatIsThere(row: string, company: string | Expression<string>) {
  const [before, after] = isNoneOf(row, '?').split('?') as [string, string];
  return sql<SqlBool>`${sql.raw(before)}${company}${sql.raw(after)}`;
}

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
