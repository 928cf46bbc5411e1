import { type AliasedExpression, type QueryCreator, type Selectable, sql } from 'kysely';
import { isoTimeSql } from '../sql/selection.ts';
import { db } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';

export type WithContracts = QueryCreator<Tables & { c: Selectable<Tables['contract']> }>;
export type VehicleName = Pick<Selectable<Tables['vehicle']>, 'company' | 'id' | 'vin' | 'manufacturer'>;

const DATA = `'name', c.name, 'pack', c.pack, 'from', ${isoTimeSql('c.starts_at')}, 'to', ${isoTimeSql('c.ends_at')},
  'manufacturer', v.manufacturer`;
export const contractData = sql.raw<Record<string, unknown>>(`jsonb_build_object(${DATA}, 'reason', null)`);
const dataWithReason = sql.raw<Record<string, unknown>>(`jsonb_build_object(${DATA}, 'reason', c.activation_reason)`);

/** Facts of the contracts of clause `c`; `vehicles` gives theirs, which may be deleted by the same statement. */
export const contractFactsQuery = (
  q: WithContracts,
  vehicles: AliasedExpression<VehicleName, 'v'>,
  data?: 'withReason',
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
      (data ? dataWithReason : contractData).as('data'),
    ]);

export const vehicleNamesOf = (company: string) =>
  db.selectFrom('vehicle').select(['company', 'id', 'vin', 'manufacturer']).where('company', '=', company).as('v');
