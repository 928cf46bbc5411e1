import { sql } from 'kysely';
import { z } from 'zod';
import type { ConnectivityStatus, DataDelivery, Reason } from '../manufacturers/provider.ts';
import { type Context, companyOf } from './context.ts';
import { VehicleNotFound } from './errors.ts';
import { likePrefix, ownerOfFleet } from './fleets.ts';
import { readInput } from './input.ts';
import { firstPage, type Page, pageSql, type Slice, sliceOf } from './page.ts';
import { isId, isoTime, isoTimeOrNull, read } from './sql.ts';
import { readVin } from './vin.ts';

export const eligibilityStatuses = ['PENDING', 'ELIGIBLE', 'INELIGIBLE', 'UNSUPPORTED', 'FAILED'] as const;
export type EligibilityStatus = (typeof eligibilityStatuses)[number];

/** What the manufacturer says of a vehicle. Times are ISO 8601 UTC. */
export interface Eligibility {
  vin: string;
  status: EligibilityStatus;
  /** null until there is an answer, and where nobody can give one. */
  eligible: boolean | null;
  manufacturer: string | null;
  dataDelivery: DataDelivery[];
  connectivityStatus: ConnectivityStatus | null;
  primaryUserAssigned: boolean | null;
  reason: Reason | null;
  attempts: number;
  verifiedAt: string | null;
  nextAttemptAt: string | null;
}

export interface Vehicle {
  id: string;
  company: string;
  fleetId: string;
  vin: string;
  /** The maker's slug; null when the VIN does not tell. */
  manufacturer: string | null;
  eligibility: Eligibility;
  warnings: string[];
  createdAt: string;
}

export const vehicleFilter = z.object({
  eligibility: z.enum(eligibilityStatuses).nullish(),
  manufacturer: z.string().nullish(),
  vinStartsWith: z
    .string()
    .max(17, 'is at most 17 characters')
    .transform((value) => value.trim().toUpperCase())
    .nullish(),
});
export type VehicleFilter = z.input<typeof vehicleFilter>;

/** One vehicle of the caller's company by its id or its VIN; throws VehicleNotFound. */
export async function getVehicle(ctx: Context, by: { id: string } | { vin: string }): Promise<Vehicle> {
  const [vehicle] = 'id' in by ? await vehiclesById(ctx, [by.id]) : await vehiclesByVin(ctx, [by.vin]);
  if (!vehicle) throw new VehicleNotFound('id' in by ? undefined : 'No fleet has a vehicle with this VIN.');
  return vehicle;
}

/** The caller's vehicles with these ids, in their order; null where there is none. */
export async function vehiclesById(ctx: Context, ids: readonly string[]): Promise<(Vehicle | null)[]> {
  const company = companyOf(ctx, 'fleets:read');
  const rows = await read<VehicleRow>(
    ctx,
    sql`select ${vehicleColumns} from vehicle v where v.company = ${company} and v.id = any(${ids.filter(isId)}::uuid[])`,
  );
  const byId = new Map(rows.map((row) => [row.id, toVehicle(row)]));
  return ids.map((wanted) => byId.get(wanted.toLowerCase()) ?? null);
}

/** The caller's vehicles with these VINs, in their order; null where there is none. Takes VINs as people write them. */
export async function vehiclesByVin(ctx: Context, vins: readonly string[]): Promise<(Vehicle | null)[]> {
  const company = companyOf(ctx, 'fleets:read');
  const wanted = vins.map(vinOrNull);
  const rows = await read<VehicleRow>(
    ctx,
    sql`select ${vehicleColumns} from vehicle v
        where v.company = ${company} and v.vin = any(${wanted.filter((vin) => vin !== null)}::text[])`,
  );
  const byVin = new Map(rows.map((row) => [row.vin, toVehicle(row)]));
  return wanted.map((vin) => (vin === null ? null : (byVin.get(vin) ?? null)));
}

/** The VIN in its one form, or null for what cannot be one. */
export function vinOrNull(value: string): string | null {
  const reading = readVin(value);
  return 'vin' in reading ? reading.vin : null;
}

/** A page of vehicles for each of these fleets, oldest first, in one statement however many fleets there are. */
export async function vehiclesOfFleets(
  ctx: Context,
  input: { fleetIds: readonly string[]; page: Page; filter?: VehicleFilter | null | undefined },
): Promise<Map<string, Slice<Vehicle>>> {
  const company = companyOf(ctx, 'fleets:read');
  const { within, tail } = pageSql(input.page, sql`v.id`);
  const rows = await read<VehicleRow>(
    ctx,
    sql`select page.* from unnest(${input.fleetIds}::uuid[]) with ordinality parent(id, place)
        cross join lateral (
          select ${vehicleColumns} from vehicle v
          where v.fleet_id = parent.id and v.company = ${company} ${matching(input.filter)} ${within} ${tail}
        ) page
        order by parent.place, ${input.page.backward ? sql`page.id desc` : sql`page.id`}`,
  );
  const byFleet = Map.groupBy(rows.map(toVehicle), (vehicle) => vehicle.fleetId);
  return new Map(input.fleetIds.map((id) => [id, sliceOf(byFleet.get(id) ?? [], input.page)]));
}

/** How many vehicles vehiclesOfFleets has in all for each fleet. Counts that were kept are read, not counted. */
export async function countVehiclesOfFleets(
  ctx: Context,
  input: { fleetIds: readonly string[]; filter?: VehicleFilter | null | undefined },
): Promise<Map<string, number>> {
  const company = companyOf(ctx, 'fleets:read');
  const { eligibility, manufacturer, vinStartsWith } = readInput(vehicleFilter, input.filter ?? {});
  const kept = !manufacturer && !vinStartsWith;
  const rows = await read<{ fleet_id: string; count: number }>(
    ctx,
    kept
      ? sql`select t.fleet_id, sum(t.delta)::int as count from vehicle_tally t join fleet f on f.id = t.fleet_id
            where t.fleet_id = any(${input.fleetIds}::uuid[]) and f.company = ${company}
            ${eligibility ? sql`and t.status = ${eligibility}` : sql``} group by t.fleet_id`
      : sql`select v.fleet_id, count(*)::int as count from vehicle v
            where v.fleet_id = any(${input.fleetIds}::uuid[]) and v.company = ${company} ${matching(input.filter)}
            group by v.fleet_id`,
  );
  const counts = new Map(rows.map((row) => [row.fleet_id, row.count]));
  return new Map(input.fleetIds.map((id) => [id, counts.get(id) ?? 0]));
}

/** How many vehicles of each status every one of these fleets has. */
export async function eligibilitySummaries(
  ctx: Context,
  fleetIds: readonly string[],
): Promise<Map<string, Record<EligibilityStatus, number>>> {
  const company = companyOf(ctx, 'fleets:read');
  const rows = await read<{ fleet_id: string; status: EligibilityStatus; count: number }>(
    ctx,
    sql`select t.fleet_id, t.status, sum(t.delta)::int as count from vehicle_tally t join fleet f on f.id = t.fleet_id
        where t.fleet_id = any(${fleetIds}::uuid[]) and f.company = ${company} group by t.fleet_id, t.status`,
  );
  const none = { PENDING: 0, ELIGIBLE: 0, INELIGIBLE: 0, UNSUPPORTED: 0, FAILED: 0 };
  const summaries = new Map(fleetIds.map((id) => [id, { ...none }]));
  for (const row of rows) {
    const summary = summaries.get(row.fleet_id);
    if (summary) summary[row.status] = row.count;
  }
  return summaries;
}

/** A page of one fleet's vehicles, oldest first; throws FleetNotFound. */
export async function listVehicles(ctx: Context, input: { fleetId: string; page: Page }): Promise<Slice<Vehicle>> {
  await ownerOfFleet(ctx, companyOf(ctx, 'fleets:read'), input.fleetId);
  const slices = await vehiclesOfFleets(ctx, { fleetIds: [input.fleetId.toLowerCase()], page: input.page });
  return slices.get(input.fleetId.toLowerCase()) as Slice<Vehicle>;
}

const STREAM_PAGE = 1000;

/**
 * All vehicles of a fleet, oldest first, page by page: constant memory, no transaction held while the reader
 * is slow. Throws FleetNotFound before the first page.
 */
export async function* streamVehicles(ctx: Context, input: { fleetId: string }): AsyncGenerator<Vehicle[]> {
  let page = firstPage(STREAM_PAGE);
  let slice: Slice<Vehicle>;
  do {
    slice = await listVehicles(ctx, { fleetId: input.fleetId, page });
    if (slice.items.length > 0) yield slice.items;
    page = { ...page, after: slice.items.at(-1)?.id ?? null };
  } while (slice.hasNext);
}

function matching(filter?: VehicleFilter | null) {
  const { eligibility, manufacturer, vinStartsWith } = readInput(vehicleFilter, filter ?? {});
  return sql`${eligibility ? sql`and v.status = ${eligibility}` : sql``}
    ${manufacturer ? sql`and v.manufacturer = ${manufacturer}` : sql``}
    ${vinStartsWith ? sql`and v.vin like ${likePrefix(vinStartsWith)}` : sql``}`;
}

/** Columns of toVehicle, from a table named `v`. */
export const vehicleColumns = sql`v.id, v.company, v.fleet_id, v.vin, v.manufacturer, v.warnings, v.created_at,
  v.status, v.data_delivery, v.connectivity_status, v.primary_user_assigned, v.reason, v.attempts, v.verified_at,
  case when v.claimed then null else v.due_at end as next_attempt_at`;

export interface VehicleRow {
  id: string;
  company: string;
  fleet_id: string;
  vin: string;
  manufacturer: string | null;
  warnings: string[];
  created_at: string;
  status: EligibilityStatus;
  data_delivery: DataDelivery[];
  connectivity_status: ConnectivityStatus | null;
  primary_user_assigned: boolean | null;
  reason: Reason | null;
  attempts: number;
  verified_at: string | null;
  next_attempt_at: string | null;
}

const eligibleBy: Partial<Record<EligibilityStatus, boolean>> = { ELIGIBLE: true, INELIGIBLE: false };

export const toVehicle = (row: VehicleRow): Vehicle => ({
  id: row.id,
  company: row.company,
  fleetId: row.fleet_id,
  vin: row.vin,
  manufacturer: row.manufacturer,
  eligibility: {
    vin: row.vin,
    status: row.status,
    eligible: eligibleBy[row.status] ?? null,
    manufacturer: row.manufacturer,
    dataDelivery: row.data_delivery,
    connectivityStatus: row.connectivity_status,
    primaryUserAssigned: row.primary_user_assigned,
    reason: row.reason,
    attempts: row.attempts,
    verifiedAt: isoTimeOrNull(row.verified_at),
    nextAttemptAt: isoTimeOrNull(row.next_attempt_at),
  },
  warnings: row.warnings,
  createdAt: isoTime(row.created_at),
});
