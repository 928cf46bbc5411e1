import { isPartOfVin, isWholeVin, normalizeVinPart, vinOrNull } from '../../vin-files/index.ts';
import type { IndexSeek } from '../sql/list-description.ts';
import type { FilterConditions } from '../sql/resource.ts';
import { vinPartSql } from '../sql/vin-part.ts';

/** Tells a part of a VIN from a whole one; what is neither fits no contract. */
export function readVinFilter<F extends { vin?: string | null | undefined }>({ vin, ...others }: F) {
  const part = normalizeVinPart(vin ?? '');
  return { ...others, ...(vin != null && (isPartOfVin(part) && !isWholeVin(part) ? { vinPart: part } : { vin })) };
}

const vehicle = vinPartSql('sv.vin');
/** PostgreSQL looks the vehicle of each contract up; of a join, it might read all vehicles that match. */
const ofVehicle = (condition: string) =>
  `(select ${condition} from vehicle sv where sv.company = $company and sv.id = c.vehicle_id offset 0)`;

export const vinConditions: FilterConditions = {
  vin: [ofVehicle('sv.vin = ?'), vinOrNull],
  vinPart: [ofVehicle(`(${vehicle.begins} or ${vehicle.ends})`)],
};

const vehiclesWith = (condition: string) => `select sv.id from vehicle sv where sv.company = $company and ${condition}`;
const withPart = `${vehiclesWith(vehicle.begins)} union all ${vehiclesWith(`${vehicle.ends} and not (${vehicle.begins})`)}`;
// `offset` keeps PostgreSQL from reading all contracts into a hash.
const rows = 'select from contract sc where sc.company = $company and sc.vehicle_id = one.of offset 0';
const byVehicles = (by: string, sql: string): IndexSeek => ({
  by,
  values: { sql, rows },
  finds: [
    { each: 'looked_up', where: { [by]: 'c.vehicle_id >= one.of and c.vehicle_id <= one.of' }, order: 'c.vehicle_id' },
  ],
});

/** Contracts have no index by VIN: the vehicles are looked up first. */
export const vinSeeks = [byVehicles('vin', vehiclesWith('sv.vin = ?')), byVehicles('vinPart', withPart)];
