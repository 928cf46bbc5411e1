import type { FilterConditions, IndexSeek } from '../sql/resource.ts';
import { vinPartSql } from '../sql/vin-part.ts';
import { isPartOfVin, isWholeVin, normalizeVinPart, vinOrNull } from '../vin.ts';

/** Tells a part of a VIN from a whole one; what is neither fits no contract. */
export function readVinFilter<F extends { vin?: string | null | undefined }>({ vin, ...others }: F) {
  const part = normalizeVinPart(vin ?? '');
  return { ...others, ...(vin != null && (isPartOfVin(part) && !isWholeVin(part) ? { vinPart: part } : { vin })) };
}

const shown = vinPartSql('cv.vin');
export const vinConditions: FilterConditions = {
  vin: ['cv.vin = ?', vinOrNull],
  vinPart: [`(${shown.begins} or ${shown.ends})`],
};

const sought = vinPartSql('sv.vin');
const vehiclesWith = (condition: string) => `select sv.id from vehicle sv where sv.company = $company and ${condition}`;
const withPart = `${vehiclesWith(sought.begins)} union all ${vehiclesWith(`${sought.ends} and not (${sought.begins})`)}`;
const ofVehicles = { column: 'c.vehicle_id', ofCompany: true } as const;

/** Contracts have no index by VIN: the vehicles are looked up first. */
export const vinSeek: IndexSeek = {
  column: 'c.fleet_id',
  parents: { from: 'fleet sf', id: 'sf.id', where: 'sf.company = $company and sf.deletion is null' },
  keys: [
    [{ ...ofVehicles, from: ['vin', vehiclesWith('sv.vin = ?')] }],
    [{ ...ofVehicles, from: ['vinPart', withPart] }],
  ],
};
