import { type RawBuilder, sql } from 'kysely';
import { reasonCodes } from '../../manufacturers/index.ts';
import { isWholeVin, vinOrNull, vinWarnings } from '../../vin-files/index.ts';
import { authorize, type Context } from '../context.ts';
import { VehicleNotFound } from '../errors.ts';
import { existingFleetConditions, fleetExistsExpression } from '../fleets/fleet.ts';
import { requireFleet } from '../fleets/fleets.ts';
import type { ListInput } from '../sql/page.ts';
import { type RowWriter, readOneRow, readTextPage } from '../sql/read.ts';
import {
  type FilterConditions,
  idOrNull,
  type Resource,
  type ResourceFields,
  type ValueField,
} from '../sql/resource.ts';
import { jsonMembersOf, jsonObjectExpression, jsonSql, reasonJsonMembers } from '../sql/selection.ts';
import { anyOfIds, db, prepare, uniqueIds } from '../sql/sql.ts';
import {
  eligibilitySchema,
  type Vehicle,
  type VehicleFilter,
  vehicleFilterSchema,
  vehicleSchema,
  vehicleSortOrders,
} from './vehicle.ts';
import { ACTOR, CODE, LATEST, PART_OF_VIN, VERIFIED, vehicleSeeks, verifiedBounds } from './vehicle-seeks.ts';

export const getVehicle = (ctx: Context, by: { id: string } | { vin: string }): Promise<Vehicle> =>
  readOneRow(ctx, vehicleResource, by, { company: authorize(ctx, 'fleets:read') });

/** A page of one fleet's vehicles, as `writer` writes them; throws FleetNotFound. */
export async function listVehicles(ctx: Context, writer: RowWriter, input: VehiclesInput & { fleetId: string }) {
  const company = authorize(ctx, 'fleets:read');
  const { fleetId, page } = input;
  const filter = { ...input.filter, fleetIds: [fleetId] };
  const found = await readTextPage(ctx, vehicleResource, writer, { company, page, filter });
  // Only an empty page leaves open whether there is such a fleet.
  if (found.last === null) await requireFleet(ctx, company, fleetId);
  return found;
}

type VehiclesInput = ListInput<VehicleFilter>;

export const listAllVehicles = async (ctx: Context, writer: RowWriter, input: VehiclesInput) =>
  readTextPage(ctx, vehicleResource, writer, { company: authorize(ctx, 'fleets:read'), ...input });

export const ELIGIBLE_BY_STATUS = { ELIGIBLE: 'true', INELIGIBLE: 'false' } as const;

const ofVin = { vin: jsonSql.code('v.vin'), manufacturer: jsonSql.orNull(jsonSql.code('v.manufacturer')) };

const eligibilityJson = jsonMembersOf('vehicle', 'v', eligibilitySchema, {
  ...ofVin,
  eligible: jsonSql.oneOf('v.status', ELIGIBLE_BY_STATUS, 'null'),
  dataDelivery: jsonSql.texts('v.data_delivery'),
  nextAttemptAt: jsonSql.orNull(jsonSql.time('case when v.claimed_by is null then v.due_at end')),
});

const vehicleJson = jsonMembersOf('vehicle', 'v', vehicleSchema, {
  ...ofVin,
  eligibility: eligibilityJson,
  warnings: jsonSql.texts('v.warnings'),
});

export const vehicleJsonExpression = jsonObjectExpression<Vehicle>(vehicleJson);

/** Whether a vehicle `v` is in these fleets, by no index: the planner would read whole fleets for few ids or VINs. */
export const isInFleets = (fleets: RawBuilder<unknown>) => sql<boolean>`(v.fleet_id = ${fleets}) is true`;

/** The company's vehicles `v` of fleets that are not deleted, for statements. */
export const existingVehiclesQuery = (company: string) =>
  db.selectFrom('vehicle as v').where('v.company', '=', company).where(fleetExistsExpression('v', company));

/** These vehicles by their ids, in no order: before PostgreSQL 17 only the whole company's are in one, by an index. */
export const findVehicles = prepare((p: { company: string; ids: readonly string[] }) =>
  existingVehiclesQuery(p.company).select(vehicleJsonExpression.as('json')).where('v.id', '=', anyOfIds(p.ids)),
);

const manufacturer = { kind: 'manufacturer', slug: 'v.manufacturer' } as const;
const eligibilityFields: ResourceFields = {
  manufacturer,
  reason: { kind: 'object', unless: 'v.reason is null', members: reasonJsonMembers('v.reason') },
};

/** Warnings in GraphQL: a list is empty for most vehicles. */
const warnings: ValueField = {
  kind: 'value',
  value: {
    sql: `case v.warnings when '{}' then '[]' else (select json_agg(${jsonSql.known('w', vinWarnings).sql})::text
      from unnest(v.warnings) w) end`,
  },
  make: (codes: readonly string[]) => codes,
  isText: true,
};

/** So many characters are in fewer VINs than a status or a reason. */
const RARE_CHARACTERS = 6;

/** The condition on a VIN, or on its beginning and end. */
export const vinCondition = (vin: string) =>
  isWholeVin(vin) ? { vin } : { [vin.length < RARE_CHARACTERS ? 'vinPart' : 'rareVinPart']: vin };

export const vehicleResource: Resource = {
  table: 'vehicle v',
  ...existingFleetConditions('v'),
  id: 'v.id',
  members: vehicleJson,
  fields: {
    warnings,
    manufacturer,
    eligibility: { kind: 'object', members: eligibilityJson, fields: eligibilityFields },
  },
  filter: vehicleFilterSchema.transform(({ vin, reasonCode, ...others }) => ({
    ...others,
    ...(reasonCode && { [reasonCode === 'OTHER' ? 'otherReason' : 'reasonCode']: reasonCode }),
    ...(vin && vinCondition(vin)),
  })),
  conditions: {
    id: ['v.id = ?::uuid', idOrNull],
    vin: ['v.vin = ?', vinOrNull],
    vinPart: [PART_OF_VIN],
    rareVinPart: [PART_OF_VIN],
    eligibility: ['v.status = any(?::text[])'],
    eligibilityAlone: ['v.status = ?::text'],
    manufacturer: ['v.manufacturer = ?'],
    fleetIds: ['v.fleet_id = any(?::uuid[])', uniqueIds],
    fleetIdsAlone: ['v.fleet_id = ?::uuid', idOrNull],
    reasonCode: [`v.reason is not null and ${CODE} = ?`],
    otherReason: [`v.reason is not null and ${jsonSql.known(CODE, reasonCodes).sql} = ?`],
    actor: [`v.reason is not null and ${ACTOR} = ?`],
    verifiedBefore: [`${VERIFIED} < ?::timestamptz`],
    verifiedAfter: [`${VERIFIED} >= ?::timestamptz and ${VERIFIED} <= ${LATEST}`],
  },
  leading: { fleetIdsAlone: 'v.fleet_id' },
  seeks: vehicleSeeks,
  bounds: verifiedBounds,
  orders: vehicleSortOrders,
  missing: (by) => new VehicleNotFound('vin' in by ? 'No fleet has a vehicle with this VIN.' : undefined),
};

export const eligibilityResource: Resource = {
  ...vehicleResource,
  members: eligibilityJson,
  fields: eligibilityFields,
};

/** Filters of vehicles as conditions on tallies `t`. */
export const tallyConditions: FilterConditions = {
  eligibility: ['t.status = any(?::text[])'],
  eligibilityAlone: ['t.status = ?::text'],
  fleetIds: ['t.fleet_id = any(?::uuid[])', uniqueIds],
  fleetIdsAlone: ['t.fleet_id = ?::uuid', idOrNull],
};
