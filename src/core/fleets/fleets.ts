import { type QueryCreator, sql } from 'kysely';
import { Fleet as FleetEntity } from '../../entities/fleet.ts';
import { eligibilityStatuses } from '../../entities/vehicle.ts';
import { authorize, type Context } from '../context.ts';
import { type Expected, FleetNotFound, needExpected, ValidationFailed } from '../errors.ts';
import { record } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import type { Page } from '../sql/page.ts';
import { prepare } from '../sql/prepare.ts';
import { type RowWriter, readOne, readText, type TextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { isoOf, type JsonTable, json, jsonTable } from '../sql/selection.ts';
import { onPrimary, transaction } from '../sql/send.ts';
import { anyId, anyOf, isId } from '../sql/sql.ts';
import { db, type Tables } from '../sql/tables.ts';
import { createFleetInput, type Fleet, fleet, fleetFilter, fleetOrders, updateFleetInput } from './fleet.ts';

/**
 * Changes the named fields of a fleet; one that stays as it was keeps its time of change. Throws FleetNotFound,
 * PreconditionFailed, or ValidationFailed when no field is named.
 */
export async function updateFleet(ctx: Context, input: unknown, expected?: Expected<Fleet>): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const { id: fleetId, ...fields } = readInput(updateFleetInput, input);
  return transaction(ctx, async (em) => {
    // Locked, so that what the event says was before is what was before; but not against new vehicles, which hold on to
    // the fleet's id until they are committed.
    const [row] = isId(fleetId) ? await lockToChange(onPrimary(ctx), { id: fleetId, company }) : [];
    if (!row) throw new FleetNotFound();
    const { vehicleCount, createdAt, updatedAt, ...columns } = row;
    const fleet = em.map(FleetEntity, columns);
    const shown = (): Fleet => {
      const { id, name, companyAddress, email, vat } = fleet;
      return { id, company, name, companyAddress, email, vat, vehicleCount, createdAt, updatedAt };
    };
    needExpected(shown(), expected);
    if (Object.values(fields).every((value) => value === undefined)) {
      throw new ValidationFailed(
        [],
        `Nothing to change: name at least one of ${Object.keys(createFleetInput.shape).join(', ')}.`,
      );
    }
    const changes = changesOf(fleet, fields);
    if (Object.keys(changes).length === 0) return shown();
    const now = ctx.now();
    em.assign(fleet, { ...fields, updatedAt: now }, { ignoreUndefined: true });
    await em.flush();
    await record(ctx, { type: 'fleet.updated', company, fleetId: fleet.id, data: { changes } });
    return { ...shown(), updatedAt: now.toISOString() };
  });
}

/**
 * With all that is shown of a fleet, so that it need not be read again. MikroORM gets no times: it would read them in the
 * session's style.
 */
const lockToChange = prepare((p: { id: string; company: string }) =>
  db
    .selectFrom('fleet')
    .select(['id', 'company', 'name', 'company_address', 'email', 'vat'])
    .select(({ ref, selectFrom }) => [
      isoOf(ref('created_at')).as('createdAt'),
      isoOf(ref('updated_at')).as('updatedAt'),
      selectFrom('vehicle_tally as t')
        .select((t) => sql<number>`coalesce(sum(${t.ref('t.delta')}), 0)::int`.as('count'))
        .where('t.company', '=', p.company)
        .whereRef('t.fleet_id', '=', 'fleet.id')
        .$asScalar()
        .$notNull()
        .as('vehicleCount'),
    ])
    .where('id', '=', p.id)
    .where('company', '=', p.company)
    .where('deletion', 'is', null)
    .forNoKeyUpdate(),
);

/** Each field that gets another value, with both. */
function changesOf<T extends object>(before: T, fields: Partial<T>): Record<string, { from: unknown; to: unknown }> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const changed = names.filter((name) => fields[name] !== undefined && fields[name] !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, { from: before[name], to: fields[name] }]));
}

/** One fleet of the caller's company; throws FleetNotFound. */
export const getFleet = (ctx: Context, input: { id: string }): Promise<Fleet> =>
  readOne(ctx, fleetRows, input, { company: authorize(ctx, 'fleets:read') });

/** A fleet of the company, read where changes are made; throws FleetNotFound. */
export const readFleet = (ctx: Context, company: string, id: string): Promise<Fleet> =>
  readOne(ctx, fleetRows, { id }, { company, send: onPrimary });

/** A fleet that the caller has just changed something in, as it is now; null when somebody has deleted it since. */
export const fleetAfterChange = (ctx: Context, input: { id: string }): Promise<Fleet | null> =>
  readFleet(ctx, authorize(ctx, 'fleets:write'), input.id).catch((error) => {
    if (error instanceof FleetNotFound) return null;
    throw error;
  });

/** A page of the caller's fleets, as `writer` writes them. */
export const listFleets = (ctx: Context, writer: RowWriter, page: Page): Promise<TextPage> =>
  readText(ctx, fleetRows, writer, { company: authorize(ctx, 'fleets:read'), page });

/** A LIKE pattern for what begins with this text, taken literally. */
export const likePrefix = (prefix: string): string => `${prefix.replaceAll(/[\\%_]/g, '\\$&')}%`;

const anyFleet = prepare((p: { id: string }) =>
  db.selectFrom('fleet').select('company').where('id', '=', p.id).where('deletion', 'is', null),
);

interface Place {
  company: string;
  id: string;
}
const ownFleet = (p: Place, q: QueryCreator<Tables> = db) =>
  q
    .selectFrom('fleet')
    .select(['company', 'id'])
    .where('id', '=', p.id)
    .where('company', '=', p.company)
    .where('deletion', 'is', null);

/** By what else may happen to the fleet until the transaction ends. */
const fleetBy = {
  anything: prepare((p: Place) => ownFleet(p)),
  change: prepare((p: Place) => ownFleet(p).forKeyShare()),
  nothing: prepare((p: Place) => ownFleet(p).forUpdate()),
};

async function companyOf(ctx: Context, allowed: keyof typeof fleetBy, company: string | null, id: string) {
  // Rows of a company that is not known are not locked: Citus does not know where to.
  const [found] = isId(id) && company === null ? await anyFleet(onPrimary(ctx), { id }) : [{ company }];
  const owner = found?.company ?? null;
  const [row] = isId(id) && owner !== null ? await fleetBy[allowed](onPrimary(ctx), { id, company: owner }) : [];
  if (!row) throw new FleetNotFound();
  return row.company;
}

/** Throws FleetNotFound unless the fleet is the company's (of any company when null); gives its company. Locks nothing. */
export const ownerOfFleet = (ctx: Context, company: string | null, fleetId: string): Promise<string> =>
  companyOf(ctx, 'anything', company, fleetId);

/**
 * Like ownerOfFleet, and keeps the fleet from being deleted until the transaction ends. To be called before vehicles of it
 * are locked: its deletion locks in this order, and the opposite one would be a deadlock.
 */
export const holdFleet = (ctx: Context, company: string | null, fleetId: string): Promise<string> =>
  companyOf(ctx, 'change', company, fleetId);

/** Like ownerOfFleet, and keeps everybody else from the fleet until the transaction ends. */
export const lockFleet = (ctx: Context, company: string, fleetId: string): Promise<string> =>
  companyOf(ctx, 'nothing', company, fleetId);

/** holdFleet as a step of a statement: gives the fleet's company and id, or nothing. */
export const holdingFleet = (p: Place) => (q: QueryCreator<Tables>) => ownFleet(p, q).forKeyShare();

/** holdFleet for the fleets of these vehicles, as a step of a statement; waits for nobody who deletes one. */
export const holdingFleetsOf = (p: { company: string; ids: readonly string[] }) => (q: QueryCreator<Tables>) =>
  q
    .selectFrom('fleet')
    .select('id')
    .where('company', '=', p.company)
    .where('deletion', 'is', null)
    .where('id', '=', (of) =>
      anyOf(
        of.selectFrom('vehicle').select('fleet_id').where('company', '=', p.company).where('id', '=', anyId(p.ids)),
      ),
    )
    .forKeyShare()
    .skipLocked();

/** What is kept of how many vehicles a fleet has. */
export const TALLY = 'vehicle_tally t where t.company = $company and t.fleet_id = f.id';

const statuses = eligibilityStatuses.map((status) => [status.toLowerCase(), status] as const);
/** Its numbers of vehicles by status, each by the status in lower case. */
export const byStatus: JsonTable = Object.fromEntries(statuses.map(([name]) => [name, json.number(`counts.${name}`)]));
const sums = [
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
    nameStartsWith: ['f.name like ?', likePrefix],
    vat: ['f.vat = ?'],
  },
  orders: fleetOrders,
  missing: () => new FleetNotFound(),
};
