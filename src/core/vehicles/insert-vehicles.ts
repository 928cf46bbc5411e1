import { expressionBuilder, sql } from 'kysely';
import { type Vin, vinWarningsText } from '../../vin-files/index.ts';
import { scheduleClause } from '../companies/schedule.ts';
import type { Context } from '../context.ts';
import { violatedConstraint } from '../database-errors.ts';
import {
  announceEvents,
  callerOrigin,
  type EventOrigin,
  eventsClause,
  vehicleFactsQuery,
} from '../events/record-events.ts';
import { lockedFleetClause } from '../fleets/fleets.ts';
import { isoTimeExpression } from '../sql/selection.ts';
import { anyOfTexts, db, isId, jsonRecordset, newId, prepareStatementVariants } from '../sql/sql.ts';
import { recheckHours, recheckInterval } from './eligibility.ts';
import { tallyClause } from './tally.ts';
import type { EligibilityStatus, Vehicle } from './vehicle.ts';

/** `unknown`: all of their VINs, where nothing is to be stored unless the company has none of them. */
type Insertion = NewVehicleParams & EventOrigin & { rows: string; unknown: readonly string[] | null };

/** Adds vehicles with their count and events, in the order of VINs: two lists cannot wait for each other. */
const insertNew = prepareStatementVariants<Insertion>()(['unknown'], (p, has) => {
  const columns = 'id uuid, vin text, manufacturer text, warnings text, supported boolean';
  const rows = jsonRecordset<VinRow & { id: string }, 'r'>('r', p.rows, columns);
  return db
    .with('held', () =>
      lockedFleetClause({ company: p.company, id: p.fleetId }).$if(has.unknown, (q) =>
        q.where(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom('vehicle')
                .where('company', '=', p.company)
                .where('vin', '=', anyOfTexts(p.unknown ?? [])),
            ),
          ),
        ),
      ),
    )
    .with('made', (q) =>
      q
        .insertInto('vehicle')
        .columns(newVehicleColumns)
        .expression(q.selectFrom(['held', rows]).select('r.id').select(newVehicleValues(p)).orderBy('r.vin'))
        .$if(!has.unknown, (q) => q.onConflict((conflict) => conflict.columns(['company', 'vin']).doNothing()))
        .returning(['company', 'fleet_id', 'id', 'vin', 'status', 'due_at']),
    )
    .with('scheduled', (q) => scheduleClause(q, 'vehicle', q.selectFrom('made').select(['company', 'due_at'])))
    .with('counted', (q) => tallyClause(q, 1, q.selectFrom('made').select(['company', 'fleet_id', 'status']).as('w')))
    .with('recorded', (q) => {
      const facts = vehicleFactsQuery(q.selectFrom('made').select(['company', 'fleet_id', 'id', 'vin']).as('v'));
      return eventsClause(q, p, { 'vehicle.added': facts });
    })
    .selectFrom('made')
    .select(({ ref }) => ['vin', isoTimeExpression(ref('due_at')).as('due')]);
});

/** Vehicles of a statement on shared connections: more would hold up the next statements. */
const MOST_SHARED = 50;

export type VehiclesByVin = ReadonlyMap<string, Vehicle>;

/** VINs to add to a fleet. */
export interface NewList {
  company: string;
  fleetId: string;
  wanted: readonly Vin[];
}

/** Adds vehicles that the company lacks to a fleet, if it has the fleet, and gives them. `ifAllNew`: all, or none. */
export async function insertVehicles(ctx: Context, { company, fleetId, wanted }: NewList, { ifAllNew = false } = {}) {
  if (wanted.length === 0 || !isId(fleetId)) return new Map();
  const { manufacturers } = ctx.services;
  const vehicles = wanted.map((read) => ({
    id: newId(),
    ...read,
    manufacturer: manufacturers.manufacturerOf(read.vin),
    supported: manufacturers.supports(read.vin),
  }));
  const rows = JSON.stringify(vehicles.map((one) => ({ ...one, warnings: vinWarningsText(one) })));
  const unknown = ifAllNew ? wanted.map(({ vin }) => vin) : null;
  const values = { ...newVehicleParams(ctx, company, fleetId), ...callerOrigin(ctx), rows, unknown };
  const inserted = await insertNew(ctx, values, { short: wanted.length <= MOST_SHARED }).catch((error) => {
    if (ifAllNew && violatedConstraint(error) === 'vehicle_vin') return [];
    throw error;
  });
  if (inserted.length === 0) return new Map();
  announceEvents(ctx);
  ctx.services.changes.announce('due', 'vehicle');
  const dueTimes = new Map(inserted.map(({ vin, due }) => [vin, due]));
  const made = vehicles.filter(({ vin }) => dueTimes.has(vin));
  const at = values.now.toISOString();
  return new Map(made.map((one) => [one.vin, shownNew(ctx, one, { fleetId, at, due: dueTimes.get(one.vin) ?? at })]));
}

export interface VinRow {
  vin: string;
  manufacturer: string | null;
  supported: boolean;
  warnings: string | null;
}

export const newVehicleParams = (ctx: Context, company: string, fleetId: string) => ({
  company,
  fleetId,
  now: ctx.now(),
  recheckHours: recheckHours(ctx).UNSUPPORTED,
  unknownMaker: JSON.stringify(ctx.services.manufacturers.unsupported(null)),
  unsupportedMaker: JSON.stringify(ctx.services.manufacturers.unsupported('')),
});
export type NewVehicleParams = ReturnType<typeof newVehicleParams>;

export const newVehicleColumns = [
  ...(['id', 'company', 'fleet_id', 'vin', 'manufacturer'] as const),
  ...(['warnings', 'created_at', 'status', 'reason', 'due_at'] as const),
];

/** The columns of a vehicle but its id, from a row `r` of VinRow; an unsupported one is due for its re-check. */
export function newVehicleValues(p: NewVehicleParams) {
  const { ref } = expressionBuilder<{ r: VinRow }, 'r'>();
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
    sql<Date>`case when ${supported} then ${now} else ${now} + ${recheckInterval(p.recheckHours, ref('r.vin'))} end`.as(
      'due_at',
    ),
  ];
}

type NewVehicle = Omit<VinRow, 'warnings'> & Pick<Vehicle, 'id' | 'warnings'>;

/** A new vehicle as clients see it; `due` is the time of its verification in ISO 8601. */
function shownNew(ctx: Context, vehicle: NewVehicle, { fleetId, at, due }: Record<'fleetId' | 'at' | 'due', string>) {
  const { id, vin, manufacturer, supported, warnings } = vehicle;
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
