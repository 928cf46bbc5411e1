import type { z } from 'zod';
import { attentionStatuses, eligibilityStatuses, Fleet as FleetEntity } from '../../entities/fleet.ts';
import { authorize, type Context, contextOfNewestRead } from '../context.ts';
import { transaction } from '../database.ts';
import { FleetNotFound, type Precondition, requirePrecondition, ValidationFailed } from '../errors.ts';
import { companyRowClause } from '../events/event-log.ts';
import { announceEvents, callerOrigin, type EventOrigin, recordEvents } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import type { ListInput } from '../sql/page.ts';
import { type RowWriter, readOneRow, readTextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { type JsonMembers, jsonMembersOf, jsonSql } from '../sql/selection.ts';
import { db, isId, newId, type PreparedStatement, prepare, type RowKey } from '../sql/sql.ts';
import {
  createFleetInput,
  type Fleet,
  fleetFilterSchema,
  fleetSchema,
  fleetSortOrders,
  updateFleetInput,
} from './fleet.ts';

export const getFleet = (ctx: Context, input: { id: string }): Promise<Fleet> =>
  readOneRow(ctx, fleetResource, input, { company: authorize(ctx, 'fleets:read') });

/** The fleet after its caller's change; null if it was deleted since. */
export const fleetAfterChange = (ctx: Context, input: { id: string }): Promise<Fleet | null> =>
  readOneRow<Fleet>(contextOfNewestRead(ctx), fleetResource, input, { company: authorize(ctx, 'fleets:write') }).catch(
    (error) => {
      if (error instanceof FleetNotFound) return null;
      throw error;
    },
  );

export const listFleets = (ctx: Context, writer: RowWriter, input: ListInput<z.input<typeof fleetFilterSchema>>) =>
  readTextPage(ctx, fleetResource, writer, { company: authorize(ctx, 'fleets:read'), ...input });

const findCompany = prepare((p: { id: string }) =>
  db.selectFrom('fleet').select('company').where('id', '=', p.id).where('deletion', 'is', null),
);

/** The company of any fleet; throws FleetNotFound. */
export async function companyOfFleet(ctx: Context, id: string): Promise<string> {
  const [found] = isId(id) ? await findCompany(ctx, { id }) : [];
  if (!found) throw new FleetNotFound();
  ctx.services.fence?.check(found.company);
  return found.company;
}

/** The company's fleets that are not deleted, for statements. */
export const existingFleetsQuery = (company: string) =>
  db.selectFrom('fleet').where('company', '=', company).where('deletion', 'is', null);

const oneFleet = (p: RowKey) => existingFleetsQuery(p.company).select(['company', 'id']).where('id', '=', p.id);

const needing =
  (find: PreparedStatement<RowKey, RowKey>) =>
  async (ctx: Context, company: string, id: string): Promise<void> => {
    const found = isId(id) ? await find(ctx, { company, id }) : [];
    if (found.length === 0) throw new FleetNotFound();
  };

/** Throws FleetNotFound unless the company has the fleet. Locks nothing. */
export const requireFleet = needing(prepare(oneFleet));

/** A `with` clause that holds a fleet; gives its company and id, or nothing. */
export const lockedFleetClause = (p: RowKey) => oneFleet(p).forKeyShare();

/** Keeps a fleet until the transaction ends; throws FleetNotFound. Taken before its vehicles, against deadlocks. */
export const shareLockFleet = needing(prepare(lockedFleetClause));

/** Locks a fleet against other changes, but not new vehicles, which hold its id until their commit: MikroORM has no such lock. */
const lockToChange = needing(prepare((p: RowKey) => oneFleet(p).forNoKeyUpdate()));

/** Locks a fleet until the transaction ends; throws FleetNotFound. */
export const lockFleet = needing(prepare((p: RowKey) => oneFleet(p).forUpdate()));

const findDeleted = prepare((p: { company: string }) =>
  db.selectFrom('fleet').select('id').where('company', '=', p.company).where('deletion', 'is not', null).limit(1),
);

export const hasFleetsInDeletion = async (ctx: Context, company: string): Promise<boolean> =>
  (await findDeleted(ctx, { company })).length > 0;

export const FLEET_TALLY_SQL = 'vehicle_tally t where t.company = $company and t.fleet_id = f.id';

const statuses = eligibilityStatuses.map((status) => [status.toLowerCase(), status] as const);
/** An EligibilitySummary, from columns that are named as its members. */
export const eligibilitySummaryJson = (row: string): JsonMembers =>
  Object.fromEntries(statuses.map(([name]) => [name, jsonSql.number(`${row}.${name}`)]));
export const tallySumsSql = [
  'coalesce(sum(t.delta), 0) as total',
  ...statuses.map(([name, status]) => `coalesce(sum(t.delta) filter (where t.status = '${status}'), 0) as ${name}`),
].join(', ');

const UNCOUNTED = 'vehicle_tally t where t.company = $company and not t.counted';
export const IN_ATTENTION = `status in (${attentionStatuses.map((status) => `'${status}'`).join(', ')})`;

const columns = ['company', 'id', 'name', 'company_address', 'email', 'vat', 'created_at', 'updated_at', 'deletion'];

/** Each fleet is looked up by itself: a join compares all with all where statistics do not know the company. */
const behind = {
  is: `coalesce((select true from ${UNCOUNTED} and t.fleet_id = f.id limit 1), false)`,
  columns: [...columns, 'vehicle_count', 'attention_count'],
  table: `(select f.*, counts.*
    from (select distinct t.fleet_id from ${UNCOUNTED}) changed
    cross join lateral (select ${columns} from fleet where company = $company and id = changed.fleet_id offset 0) f
    cross join lateral (select sum(t.delta) as vehicle_count,
      coalesce(sum(t.delta) filter (where t.${IN_ATTENTION}), 0) as attention_count from ${FLEET_TALLY_SQL}) counts) f`,
};

export const fleetResource: Resource = {
  expected: 100,
  table: 'fleet f',
  where: 'f.deletion is null',
  id: 'f.id',
  lookups: { counts: `cross join lateral (select ${tallySumsSql} from ${FLEET_TALLY_SQL}) counts` },
  members: jsonMembersOf('fleet', 'f', fleetSchema, { vehicleCount: jsonSql.number('counts.total') }),
  filter: fleetFilterSchema,
  conditions: {
    id: ['f.id = ?::uuid', idOrNull],
    name: ['position(folded(?::text) in folded(f.name)) > 0'],
    vat: ['f.vat = ?'],
  },
  orders: fleetSortOrders,
  behind,
  missing: () => new FleetNotFound(),
};

/** Stores a new fleet of the caller's company; throws ValidationFailed with every wrong field. */
export async function createFleet(ctx: Context, input: unknown): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createFleetInput, input);
  const by = callerOrigin(ctx);
  const made: Fleet = { id: newId(), company, ...fields, vehicleCount: 0, createdAt: by.at, updatedAt: by.at };
  await insertFleet(ctx, { ...made, ...by, data: JSON.stringify(fields) }, { short: true });
  announceEvents(ctx);
  return made;
}

// A unit of work would take four round trips for the fleet and its event.
const insertFleet = prepare((p: Fleet & EventOrigin & { data: string }) => {
  const texts = { name: p.name, company_address: p.companyAddress, email: p.email, vat: p.vat };
  const row = { id: p.id, company: p.company, ...texts, created_at: p.at, updated_at: p.at };
  const event = { type: 'fleet.created', actor: p.actor, request_id: p.request_id, at: p.at };
  return db
    .with('made', (q) => q.insertInto('fleet').values(row))
    .with('known', companyRowClause(p.company))
    .with('recorded', (q) =>
      q.insertInto('event').values({ ...event, company: p.company, fleet_id: p.id, data: p.data }),
    )
    .selectNoFrom([]);
});

/** Changes the named fields of a fleet; throws FleetNotFound, PreconditionFailed, or ValidationFailed for no field. */
export async function updateFleet(ctx: Context, input: unknown, expected?: Precondition<Fleet>): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const { id, ...fields } = readInput(updateFleetInput, input);
  return transaction(ctx, async (em) => {
    await lockToChange(ctx, company, id);
    const before = await readOneRow<Fleet>(ctx, fleetResource, { id }, { company });
    requirePrecondition(before, expected);
    const named = Object.entries(fields).filter((one): one is [FleetText, string] => one[1] !== undefined);
    if (named.length === 0) {
      const names = Object.keys(createFleetInput.shape).join(', ');
      throw new ValidationFailed([], `Nothing to change: name at least one of ${names}.`);
    }
    const changed = named.filter(([name, to]) => to !== before[name]);
    if (changed.length === 0) return before;
    const changes = Object.fromEntries(changed.map(([name, to]) => [name, { from: before[name], to }]));
    const updatedAt = ctx.now();
    const fleet = await em.findOneOrFail(FleetEntity, { company, id });
    em.assign(fleet, { ...Object.fromEntries(changed), updatedAt });
    await recordEvents(ctx, [{ type: 'fleet.updated', company, fleetId: before.id, data: { changes } }]);
    return { ...before, ...Object.fromEntries(changed), updatedAt: updatedAt.toISOString() };
  });
}

type FleetText = keyof z.output<typeof createFleetInput>;
