import { authorize, type Context } from '../context.ts';
import { VehicleNotFound } from '../errors.ts';
import { likePrefix, ownerOfFleet } from '../fleets/fleets.ts';
import { type JsonPage, readJsonPage, readOne } from '../sql/json-page.ts';
import { jsonTable } from '../sql/json-table.ts';
import type { Page } from '../sql/page.ts';
import { type Fields, idOrNull, type Resource } from '../sql/resource.ts';
import { type JsonTable, json, jsonObject, type Selection } from '../sql/selection.ts';
import { onReplica } from '../sql/send.ts';
import { vinOrNull } from '../vin.ts';
import { type Eligibility, eligibility, reason, type Vehicle, vehicle, vehicleFilter } from './vehicle.ts';

/** One vehicle of the caller's company by its id or its VIN; throws VehicleNotFound. */
export const getVehicle = (ctx: Context, by: { id: string } | { vin: string }): Promise<Vehicle> =>
  readOne(ctx, vehicleRows, by, { company: authorize(ctx, 'fleets:read') });

/** The eligibility of a vehicle of the caller's company, whatever its status; throws VehicleNotFound. */
export const getEligibility = (ctx: Context, { vin }: { vin: string }, send: typeof onReplica = onReplica) =>
  readOne<Eligibility>(ctx, eligibilityRows, { vin }, { company: authorize(ctx, 'fleets:read'), send });

/** A page of one fleet's vehicles as JSON, oldest first; throws FleetNotFound. */
export async function listVehiclesJson(
  ctx: Context,
  { fleetId, fields, page }: { fleetId: string; page: Page; fields: Selection<Vehicle> },
): Promise<JsonPage> {
  const company = authorize(ctx, 'fleets:read');
  const on = [OF_FLEET, { fleet: idOrNull(fleetId) }] as const;
  const slice = await readJsonPage(ctx, vehicleRows, fields, { company, page, on });
  // Only an empty page leaves open whether there is such a fleet.
  if (slice.last === null) await ownerOfFleet(ctx, company, fleetId);
  return slice;
}

const OF_FLEET = 'v.fleet_id = (select id from fleet where id = $fleet::uuid and company = $company)';

const ofVin = { vin: json.code('v.vin'), manufacturer: json.orNull(json.code('v.manufacturer')) };

const eligibilityJson = jsonTable('vehicle', 'v', eligibility, {
  ...ofVin,
  eligible: { sql: `case v.status when 'ELIGIBLE' then 'true' when 'INELIGIBLE' then 'false' else 'null' end` },
  nextAttemptAt: json.orNull(json.time('case when not v.claimed then v.due_at end')),
});

const vehicleJson = jsonTable('vehicle', 'v', vehicle, { ...ofVin, eligibility: eligibilityJson });

/** A Vehicle, from a row of a table named `v`. */
export const vehicleObject = jsonObject<Vehicle>(vehicleJson);

const manufacturer = { kind: 'manufacturer', slug: 'v.manufacturer' } as const;
const reasonJson: JsonTable = Object.fromEntries(
  Object.keys(reason.shape).map((name) => [name, { sql: `coalesce((v.reason -> '${name}')::text, 'null')` }]),
);
const eligibilityFields: Fields = {
  manufacturer,
  reason: { kind: 'object', unless: 'v.reason is null', members: reasonJson },
};

export const vehicleRows: Resource = {
  table: 'vehicle v',
  id: 'v.id',
  members: vehicleJson,
  fields: { manufacturer, eligibility: { kind: 'object', members: eligibilityJson, fields: eligibilityFields } },
  filter: vehicleFilter,
  conditions: {
    id: ['v.id = ?::uuid', idOrNull],
    vin: ['v.vin = ?', vinOrNull],
    eligibility: ['v.status = ?'],
    manufacturer: ['v.manufacturer = ?'],
    vinStartsWith: ['v.vin like ?', likePrefix],
  },
  missing: (by) => new VehicleNotFound('vin' in by ? 'No fleet has a vehicle with this VIN.' : undefined),
};

/** What a vehicle's manufacturer says of it, by itself. */
export const eligibilityRows: Resource = { ...vehicleRows, members: eligibilityJson, fields: eligibilityFields };
