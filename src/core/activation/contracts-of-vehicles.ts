import { type Expression, type Selectable, sql } from 'kysely';
import { anyOfTexts, db } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

/** The vehicle `v` of a contract `c` that was found first. `greatest` keeps PostgreSQL from finding contracts by vehicles. */
const isOfContract = sql<boolean>`v.id = greatest(c.vehicle_id)`;

/** Contracts that are found by themselves, with their vehicles. */
const withVehicles = () =>
  db
    .selectFrom('contract as c')
    .innerJoin('vehicle as v', (on) => on.onRef('v.company', '=', 'c.company').on(isOfContract));

export const contractsWithVehicles = (company: string) =>
  withVehicles().where('c.company', '=', company).where('v.company', '=', company);

/** Those of all companies that are in force. */
export const contractsInForce = (now: Expression<string>) =>
  withVehicles().where('c.starts_at', '<=', now).where('c.ends_at', '>', now);

/**
 * The contracts `c` of a vehicle `v`, where they are looked up by it. No equality: by that, PostgreSQL may scan the index of
 * `contract_no_overlap`, which loses entries where it grows meanwhile (docs/decisions/periods.md).
 */
export const CONTRACTS_OF_VEHICLE = 'c.vehicle_id = any(array[v.id])';

/**
 * The contracts of each vehicle `v` of a company, as a lateral query: `offset 0` keeps the order. In a company that its statistics
 * do not know yet, PostgreSQL would begin with all contracts, and look for all vehicles beside each.
 */
export const contractsOfEach = (company: string) =>
  sql<Selectable<Tables['contract']>>`(
    select c.* from contract c where c.company = ${company} and ${sql.raw(CONTRACTS_OF_VEHICLE)} offset 0)`;

/** Contracts of the vehicles with these VINs. */
export const contractsOfVins = (company: string, vins: readonly string[]) =>
  db
    .selectFrom('vehicle as v')
    .innerJoinLateral(contractsOfEach(company).as('c'), (on) => on.onTrue())
    .where('v.company', '=', company)
    .where('v.vin', '=', anyOfTexts(vins));
