import { actors, eligibilityStatuses } from '../../entities/fleet.ts';
import { ofFleets } from '../fleets/fleet.ts';
import type { IndexFind, IndexSeek, ListDescription } from '../sql/list-description.ts';
import { vinPartSql } from '../sql/vin-part.ts';

// The indexes by which filters find few vehicles of a company, with their columns as SQL (entities/fleet.ts).

export const ACTOR = `(v.reason ->> 'actor')`;
export const CODE = `(v.reason ->> 'code')`;
export const VERIFIED = `coalesce(v.verified_at, 'infinity'::timestamptz)`;
/** After it come vehicles without an answer. */
export const LATEST = `'9999-12-31Z'::timestamptz`;

const vin = vinPartSql('v.vin');
export const PART_OF_VIN = `(${vin.begins} or ${vin.ends})`;

// The last column of an index is compared twice: of one value, there would be nothing to order by.
const oneManufacturer = 'v.manufacturer >= ? and v.manufacturer <= ?';
const oneCode = `v.reason is not null and ${CODE} >= ? and ${CODE} <= ?`;
/** vehicle_by_status (company, status, fleet_id, manufacturer) */
const byStatus = { where: { manufacturer: oneManufacturer }, order: 'v.fleet_id, v.manufacturer' };
/** vehicle_by_reason (company, actor, code, fleet_id) */
const byReason = { where: { reasonCode: oneCode }, order: `${CODE}, v.fleet_id` };

const oneOf = (values: readonly string[]) => `unnest('{${values}}'::text[])`;
const seek = (by: string, ...finds: IndexFind[]): IndexSeek => ({ by, finds });

/** vehicle_vin (company, vin) and vehicle_by_vin_end (company, reverse(vin)); of a fleet, also vehicle_by_vin (company, fleet_id, vin) */
const partOfVin = (by: string) =>
  seek(
    by,
    { where: { [by]: vin.begins }, order: 'v.vin collate "C"' },
    { where: { [by]: `${vin.ends} and not (${vin.begins})` }, order: 'reverse(v.vin) collate "C"' },
  );

export const vehicleSeeks: readonly IndexSeek[] = [
  seek('vin', { where: { vin: 'v.vin >= ? and v.vin <= ?' }, order: 'v.vin' }),
  partOfVin('rareVinPart'),
  seek('actor', byReason),
  seek('reasonCode', {
    ...byReason,
    each: oneOf(actors),
    where: { reasonCode: `${ACTOR} = one.of and ${oneCode}` },
  }),
  seek('eligibility', {
    ...byStatus,
    each: '(select distinct unnest(?::text[]))',
    where: { ...byStatus.where, eligibility: 'v.status = one.of' },
  }),
  seek('eligibilityAlone', byStatus),
  // Among a million vehicles a manufacturer that none has in 15 ms, 1,348 pages.
  seek('manufacturer', {
    ...byStatus,
    each: oneOf(eligibilityStatuses),
    where: { manufacturer: `v.status = one.of and ${oneManufacturer}` },
  }),
  ofFleets('v'),
  partOfVin('vinPart'),
  // vehicle_by_verified (company, verified, id), and of a fleet vehicle_of_fleet_by_verified (company, fleet_id, verified, id)
  seek('verifiedAfter', { order: VERIFIED }),
  seek('verifiedBefore', { order: VERIFIED }),
];

export const verifiedBounds: ListDescription['bounds'] = {
  column: VERIFIED,
  of: {
    verifiedAfter: [
      { operator: '>=', value: '?::timestamptz' },
      { operator: '<=', value: LATEST },
    ],
    verifiedBefore: [{ operator: '<=', value: '?::timestamptz' }],
  },
};
