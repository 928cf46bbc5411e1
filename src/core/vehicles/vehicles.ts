import { actors, eligibilityStatuses } from '../../entities/fleet.ts';
import { authorize, type Context } from '../context.ts';
import { VehicleNotFound } from '../errors.ts';
import { ofFleets, ofFleetThatIsThere } from '../fleets/fleet.ts';
import { needFleet } from '../fleets/fleets.ts';
import { reasonMembers } from '../reason.ts';
import type { ListInput } from '../sql/page.ts';
import { type RowWriter, readOne, readText } from '../sql/read.ts';
import { type Fields, type FilterConditions, idOrNull, type Resource, type Seek } from '../sql/resource.ts';
import { json, jsonObject, jsonTable } from '../sql/selection.ts';
import { anyId, db, isId, prepare } from '../sql/sql.ts';
import { isWholeVin, vinOrNull } from '../vin.ts';
import {
  type Eligibility,
  eligibility,
  type Vehicle,
  type VehicleFilter,
  vehicle,
  vehicleFilter,
  vehicleOrders,
} from './vehicle.ts';

export const getVehicle = (ctx: Context, by: { id: string } | { vin: string }): Promise<Vehicle> =>
  readOne(ctx, vehicleRows, by, { company: authorize(ctx, 'fleets:read') });

/** The eligibility of a vehicle of the caller's company, whatever its status; throws VehicleNotFound. */
export const getEligibility = (ctx: Context, { vin }: { vin: string }, { newest = false } = {}) =>
  readOne<Eligibility>(ctx, eligibilityRows, { vin }, { company: authorize(ctx, 'fleets:read'), newest });

/** A page of one fleet's vehicles, as `writer` writes them; throws FleetNotFound. */
export async function listVehicles(ctx: Context, writer: RowWriter, input: VehiclesInput & { fleetId: string }) {
  const company = authorize(ctx, 'fleets:read');
  const { fleetId, page } = input;
  const filter = { ...input.filter, fleetIds: [fleetId] };
  const found = await readText(ctx, vehicleRows, writer, { company, page, filter });
  // Only an empty page leaves open whether there is such a fleet.
  if (found.last === null) await needFleet(ctx, company, fleetId);
  return found;
}

type VehiclesInput = ListInput<VehicleFilter>;

export const listAllVehicles = async (ctx: Context, writer: RowWriter, input: VehiclesInput) =>
  readText(ctx, vehicleRows, writer, { company: authorize(ctx, 'fleets:read'), ...input });

export const ELIGIBLE = { ELIGIBLE: 'true', INELIGIBLE: 'false' } as const;

const ofVin = { vin: json.code('v.vin'), manufacturer: json.orNull(json.code('v.manufacturer')) };

const eligibilityJson = jsonTable('vehicle', 'v', eligibility, {
  ...ofVin,
  eligible: json.oneOf('v.status', ELIGIBLE, 'null'),
  dataDelivery: json.texts('v.data_delivery'),
  nextAttemptAt: json.orNull(json.time('case when v.claimed_by is null then v.due_at end')),
});

const vehicleJson = jsonTable('vehicle', 'v', vehicle, {
  ...ofVin,
  eligibility: eligibilityJson,
  warnings: json.texts('v.warnings'),
});

export const vehicleObject = jsonObject<Vehicle>(vehicleJson);

/** The company's vehicles `v` of fleets that are not deleted, for statements. */
export const vehiclesOf = (company: string) =>
  db.selectFrom('vehicle as v').where('v.company', '=', company).where(ofFleetThatIsThere('v', company));

/** These vehicles by their ids. */
export const findVehicles = prepare((p: { company: string; ids: readonly string[] }) =>
  vehiclesOf(p.company).select(vehicleObject.as('json')).where('v.id', '=', anyId(p.ids)).orderBy('v.id'),
);

const manufacturer = { kind: 'manufacturer', slug: 'v.manufacturer' } as const;
const eligibilityFields: Fields = {
  manufacturer,
  reason: { kind: 'object', unless: 'v.reason is null', members: reasonMembers('v.reason') },
};

const idsOf = (ids: readonly string[]) => ids.filter(isId);

const VERIFIED = `coalesce(v.verified_at, 'infinity'::timestamptz)`;
const AFTER = 'chr(1114111)';
const BEGINS = `v.vin >= ?::text and v.vin < ?::text || ${AFTER}`;
const ENDS = `reverse(v.vin) >= reverse(?::text) and reverse(v.vin) < reverse(?::text) || ${AFTER}`;

/** Vehicles are looked up for each fleet of the company. */
const seek: Seek = {
  column: 'v.fleet_id',
  parents: { from: 'fleet sf', id: 'sf.id', where: 'sf.company = $company and sf.deletion is null' },
  keys: [
    [{ column: 'v.vin', is: 'vin', ofCompany: true }],
    [
      { column: `(v.reason ->> 'actor')`, is: 'actor', among: actors, where: 'v.reason is not null' },
      { column: `(v.reason ->> 'code')`, is: 'reasonCode' },
    ],
    [
      { column: 'v.status', among: eligibilityStatuses, is: 'eligibilityAlone', isOneOf: 'eligibility' },
      { column: 'v.manufacturer', is: 'manufacturer' },
    ],
    [
      {
        column: 'v.vin collate "C"',
        least: ['vinPart', '?::text'],
        below: ['vinPart', `?::text || ${AFTER}`],
        or: {
          column: 'reverse(v.vin) collate "C"',
          least: ['vinPart', 'reverse(?::text)'],
          below: ['vinPart', `reverse(?::text) || ${AFTER}`],
          where: `not (${BEGINS})`,
        },
      },
    ],
    [
      {
        column: VERIFIED,
        least: ['verifiedAfter', '?::timestamptz'],
        below: ['verifiedBefore', '?::timestamptz'],
      },
    ],
  ],
};

export const vehicleRows: Resource = {
  table: 'vehicle v',
  ...ofFleets('v'),
  id: 'v.id',
  members: vehicleJson,
  fields: { manufacturer, eligibility: { kind: 'object', members: eligibilityJson, fields: eligibilityFields } },
  filter: vehicleFilter.transform(({ vin, ...others }) => ({
    ...others,
    ...(vin && (isWholeVin(vin) ? { vin } : { vinPart: vin })),
  })),
  conditions: {
    id: ['v.id = ?::uuid', idOrNull],
    vin: ['v.vin = ?', vinOrNull],
    vinPart: [`(${BEGINS} or ${ENDS})`],
    eligibility: ['v.status = any(?::text[])'],
    eligibilityAlone: ['v.status = ?::text'],
    manufacturer: ['v.manufacturer = ?'],
    fleetIds: ['v.fleet_id = any(?::uuid[])', idsOf],
    fleetIdsAlone: ['v.fleet_id = ?::uuid', idOrNull],
    reasonCode: [`v.reason is not null and v.reason->>'code' = ?`],
    actor: [`v.reason is not null and v.reason->>'actor' = ?`],
    verifiedBefore: [`${VERIFIED} < ?::timestamptz`],
    verifiedAfter: [`v.verified_at is not null and ${VERIFIED} >= ?::timestamptz`],
  },
  leading: { fleetIdsAlone: 'v.fleet_id' },
  seek,
  orders: vehicleOrders,
  missing: (by) => new VehicleNotFound('vin' in by ? 'No fleet has a vehicle with this VIN.' : undefined),
};

export const eligibilityRows: Resource = { ...vehicleRows, members: eligibilityJson, fields: eligibilityFields };

/** Filters of vehicles as conditions on tallies `t`. */
export const countedBy: FilterConditions = {
  eligibility: ['t.status = any(?::text[])'],
  eligibilityAlone: ['t.status = ?::text'],
  fleetIds: ['t.fleet_id = any(?::uuid[])', idsOf],
  fleetIdsAlone: ['t.fleet_id = ?::uuid', idOrNull],
};
