import { sql } from 'kysely';
import type { z } from 'zod';
import { eligibilityStatuses } from '../../entities/fleet.ts';
import { authorize, type Context } from '../context.ts';
import { FleetNotFound } from '../errors.ts';
import type { Page } from '../sql/page.ts';
import { type RowWriter, readOne, readText, type TextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { type JsonTable, json, jsonTable } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { anyId, anyOf, isId, type Prepared, prepare } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { type Fleet, fleet, fleetFilter, fleetOrders } from './fleet.ts';

/** One fleet of the caller's company; throws FleetNotFound. */
export const getFleet = (ctx: Context, input: { id: string }): Promise<Fleet> =>
  readOne(ctx, fleetRows, input, { company: authorize(ctx, 'fleets:read') });

/** The fleet that the caller has just changed, as it is now; null if it was deleted since. */
export const fleetAfterChange = (ctx: Context, input: { id: string }): Promise<Fleet | null> =>
  readOne<Fleet>(ctx, fleetRows, input, { company: authorize(ctx, 'fleets:write'), newest: true }).catch((error) => {
    if (error instanceof FleetNotFound) return null;
    throw error;
  });

/** A page of the caller's fleets, as `writer` writes them. */
export const listFleets = (
  ctx: Context,
  writer: RowWriter,
  asked: { page: Page; filter: z.input<typeof fleetFilter> },
): Promise<TextPage> => readText(ctx, fleetRows, writer, { company: authorize(ctx, 'fleets:read'), ...asked });

const findOwner = prepare((p: { id: string }) =>
  db.selectFrom('fleet').select('company').where('id', '=', p.id).where('deletion', 'is', null),
);

/** The company of a fleet, whosever it is; throws FleetNotFound. */
export async function companyOfFleet(ctx: Context, id: string): Promise<string> {
  const [found] = isId(id) ? await findOwner(onPrimary(ctx), { id }) : [];
  if (!found) throw new FleetNotFound();
  return found.company;
}

export interface FleetKey {
  company: string;
  id: string;
}

/** The company's fleets that are there, for statements. */
export const fleetsOf = (company: string) =>
  db.selectFrom('fleet').where('company', '=', company).where('deletion', 'is', null);

const oneFleet = (p: FleetKey) => fleetsOf(p.company).select(['company', 'id']).where('id', '=', p.id);

const needing =
  (find: Prepared<FleetKey, FleetKey>) =>
  async (ctx: Context, company: string, id: string): Promise<void> => {
    const found = isId(id) ? await find(onPrimary(ctx), { company, id }) : [];
    if (found.length === 0) throw new FleetNotFound();
  };

/** Throws FleetNotFound unless the company has the fleet. Locks nothing. */
export const needFleet = needing(prepare(oneFleet));

/** A `with` clause that holds a fleet: gives its company and id, or nothing. */
export const holdingFleet = (p: FleetKey) => oneFleet(p).forKeyShare();

/**
 * Like needFleet, and keeps the fleet from being deleted until the transaction ends. To be called before vehicles of it
 * are locked: its deletion locks in this order, and the opposite one would be a deadlock.
 */
export const holdFleet = needing(prepare(holdingFleet));

/** Like needFleet, and keeps everybody else from the fleet until the transaction ends. */
export const lockFleet = needing(prepare((p: FleetKey) => oneFleet(p).forUpdate()));

/** A `with` clause that holds the fleets of these vehicles; waits for nobody who deletes one. */
export const holdingFleetsOf = (p: { company: string; ids: readonly string[] }) =>
  fleetsOf(p.company)
    .select('id')
    .where(
      'id',
      '=',
      anyOf(
        db.selectFrom('vehicle').select('fleet_id').where('company', '=', p.company).where('id', '=', anyId(p.ids)),
      ),
    )
    .forKeyShare()
    .skipLocked();

const findDeleted = prepare((p: { company: string }) =>
  db
    .selectFrom('fleet')
    .select('id')
    .where('company', '=', p.company)
    .where('deletion', 'is not', null)
    .limit(sql.lit(1)),
);

/** Whether any fleet of the company is being deleted. */
export const isDeleting = async (ctx: Context, company: string): Promise<boolean> =>
  (await findDeleted(onPrimary(ctx), { company })).length > 0;

/** The tallies of the vehicles of a fleet `f`. */
export const TALLY = 'vehicle_tally t where t.company = $company and t.fleet_id = f.id';

const statuses = eligibilityStatuses.map((status) => [status.toLowerCase(), status] as const);
/** An EligibilitySummary, from columns that are named as its members. */
export const byStatus = (row: string): JsonTable =>
  Object.fromEntries(statuses.map(([name]) => [name, json.number(`${row}.${name}`)]));
export const sums = [
  'coalesce(sum(t.delta), 0) as total',
  ...statuses.map(([name, status]) => `coalesce(sum(t.delta) filter (where t.status = '${status}'), 0) as ${name}`),
].join(', ');

export const fleetRows: Resource = {
  table: 'fleet f',
  where: 'f.deletion is null',
  id: 'f.id',
  lookups: { counts: `cross join lateral (select ${sums} from ${TALLY}) counts` },
  members: jsonTable('fleet', 'f', fleet, { vehicleCount: json.number('counts.total') }),
  filter: fleetFilter,
  conditions: {
    id: ['f.id = ?::uuid', idOrNull],
    name: ['position(folded(?::text) in folded(f.name)) > 0'],
    vat: ['f.vat = ?'],
  },
  orders: fleetOrders,
  missing: () => new FleetNotFound(),
};
