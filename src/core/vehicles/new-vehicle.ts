import { expressionBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { recheckAfter, recheckHours } from './eligibility.ts';
import type { EligibilityStatus, Vehicle } from './vehicle.ts';

/** What is read of a VIN, as a statement has it. */
export interface ReadVin {
  vin: string;
  manufacturer: string | null;
  supported: boolean;
  /** By warningsText. */
  warnings: string | null;
}

/** Whose new vehicles are, and what else all of them have. */
export const newVehiclesOf = (ctx: Context, company: string, fleetId: string) => ({
  company,
  fleetId,
  now: ctx.now(),
  recheckHours: recheckHours(ctx).UNSUPPORTED,
  unknownMaker: JSON.stringify(ctx.services.manufacturers.unsupported(null)),
  unsupportedMaker: JSON.stringify(ctx.services.manufacturers.unsupported('')),
});
export type NewVehicles = ReturnType<typeof newVehiclesOf>;

/** The id, and the columns of newVehicle. */
export const newVehicleColumns = [
  'id',
  'company',
  'fleet_id',
  'vin',
  'manufacturer',
  'warnings',
  'created_at',
  'status',
  'reason',
  'due_at',
] as const;

/** A vehicle without its id, from a row `r` of ReadVin; asked about at once, or where nobody can be, looked at again in time. */
export function newVehicle(p: NewVehicles) {
  const { ref } = expressionBuilder<{ r: ReadVin }, 'r'>();
  const supported = ref('r.supported');
  const now = sql<Date>`${p.now}::timestamptz`;
  return [
    sql<string>`${p.company}::text`.as('company'),
    sql<string>`${p.fleetId}::uuid`.as('fleet_id'),
    ref('r.vin').as('vin'),
    ref('r.manufacturer').as('manufacturer'),
    sql<string[]>`coalesce(string_to_array(${ref('r.warnings')}, ' '), '{}')`.as('warnings'),
    now.as('created_at'),
    sql<EligibilityStatus>`case when ${supported} then 'PENDING' else 'UNSUPPORTED' end`.as('status'),
    sql<string | null>`case when ${supported} then null when ${ref('r.manufacturer')} is null
      then ${p.unknownMaker}::jsonb else ${p.unsupportedMaker}::jsonb end`.as('reason'),
    sql<Date>`case when ${supported} then ${now} else ${now} + ${recheckAfter(p.recheckHours, ref('r.vin'))} end`.as(
      'due_at',
    ),
  ];
}

type NewOne = Omit<ReadVin, 'warnings'> & Pick<Vehicle, 'id' | 'warnings'>;

/** The same as it is shown; `due` is when it is asked about, in ISO 8601. */
export function shownNew(
  ctx: Context,
  { id, vin, manufacturer, supported, warnings }: NewOne,
  { fleetId, at, due }: { fleetId: string; at: string; due: string },
): Vehicle {
  const eligibility: Vehicle['eligibility'] = {
    vin,
    status: supported ? 'PENDING' : 'UNSUPPORTED',
    eligible: null,
    manufacturer,
    dataDelivery: [],
    connectivityStatus: null,
    primaryUserAssigned: null,
    reason: supported ? null : ctx.services.manufacturers.unsupported(manufacturer),
    attempts: 0,
    verifiedAt: null,
    nextAttemptAt: due,
  };
  return { id, fleetId: fleetId.toLowerCase(), vin, manufacturer, eligibility, warnings, createdAt: at };
}
