import { type RawBuilder, sql } from 'kysely';
import { Fleet as FleetEntity } from '../../entities/fleet.ts';
import { authorize, type Context } from '../context.ts';
import { FleetNotFound, ValidationFailed } from '../errors.ts';
import { announceEvents, record, recordEach } from '../events/record-events.ts';
import { readInput } from '../input.ts';
import { jsonTable } from '../sql/json-table.ts';
import { type Page, pageSql, type Slice, sliceOf } from '../sql/page.ts';
import {
  everyMember,
  type JsonPage,
  json,
  jsonObject,
  jsonText,
  parseAll,
  readJsonPage,
  type Selection,
} from '../sql/selection.ts';
import { ALL_ROWS, append, execute, onPrimary, onReplica } from '../sql/send.ts';
import { given, isId, newId } from '../sql/sql.ts';
import { createFleetInput, type Fleet, type FleetFilter, fleet, fleetFilter, updateFleetInput } from './fleet.ts';

/** Stores a new fleet of the caller's company; throws ValidationFailed with every wrong field. */
export async function createFleet(ctx: Context, input: unknown): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const fields = readInput(createFleetInput, input);
  const now = ctx.now().toISOString();
  const made: Fleet = { id: newId(), company, ...fields, vehicleCount: 0, createdAt: now, updatedAt: now };
  const { id, name, companyAddress, email, vat } = made;
  const fact = sql`select ${company}::text, ${id}::uuid, null::uuid, '{}'::uuid[], '{}'::text[], ${JSON.stringify(fields)}::jsonb`;
  // One statement is a transaction by itself: a flush within one, and the event after it, are four ways to the database.
  await execute(
    append(ctx),
    sql`with made as (
          insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
          values (${id}::uuid, ${company}, ${name}, ${companyAddress}, ${email}, ${vat}, ${now}::timestamptz, ${now}::timestamptz)
        )
        ${recordEach(ctx, 'fleet.created', fact)}`,
  );
  announceEvents(ctx);
  return made;
}

/**
 * Changes the named fields of a fleet; one that stays as it was keeps its time of change. Throws FleetNotFound, or
 * ValidationFailed when no field is named.
 */
export async function updateFleet(ctx: Context, input: unknown): Promise<Fleet> {
  const company = authorize(ctx, 'fleets:write');
  const { id: fleetId, ...fields } = readInput(updateFleetInput, input);
  return ctx.em.transactional(async (em) => {
    // Locked, so that what the event says was before is what was before; but not against new vehicles, which hold on to
    // the fleet's id until they are committed. Without its times, which MikroORM would read in the session's style.
    const [row] = isId(fleetId)
      ? await execute<object>(
          onPrimary(ctx),
          sql`select id, company, name, company_address, email, vat from fleet
              where id = ${fleetId} and company = ${company} for no key update`,
        )
      : [];
    if (!row) throw new FleetNotFound();
    const fleet = em.map(FleetEntity, row);
    if (Object.values(fields).every((value) => value === undefined)) {
      throw new ValidationFailed(
        [],
        `Nothing to change: name at least one of ${Object.keys(createFleetInput.shape).join(', ')}.`,
      );
    }
    const changes = changesOf(fleet, fields);
    if (Object.keys(changes).length > 0) {
      em.assign(fleet, { ...fields, updatedAt: ctx.now() }, { ignoreUndefined: true });
      await em.flush();
      await record(ctx, { type: 'fleet.updated', company, fleetId: fleet.id, data: { changes } });
    }
    return readFleet(ctx, onPrimary, company, fleetId);
  });
}

/** Each field that gets another value, with both. */
function changesOf<T extends object>(before: T, fields: Partial<T>): Record<string, { from: unknown; to: unknown }> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const changed = names.filter((name) => fields[name] !== undefined && fields[name] !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, { from: before[name], to: fields[name] }]));
}

/** One fleet of the caller's company; throws FleetNotFound. */
export async function getFleet(ctx: Context, input: { id: string }): Promise<Fleet> {
  return readFleet(ctx, onReplica, authorize(ctx, 'fleets:read'), input.id);
}

/** The caller's fleets with these ids, in their order; null where there is none. */
export async function fleetsById(ctx: Context, ids: readonly string[]): Promise<(Fleet | null)[]> {
  const company = authorize(ctx, 'fleets:read');
  const rows = await execute<{ json: Fleet }>(
    onReplica(ctx),
    sql`select ${fleetObject} as json from fleet f where f.company = ${company} and f.id = any(${ids.filter(isId)}::uuid[])`,
  );
  const byId = new Map(rows.map(({ json }) => [json.id, json]));
  return ids.map((wanted) => byId.get(wanted.toLowerCase()) ?? null);
}

/** A page of the caller's fleets, oldest first; with `fields`, only these members of them. */
export async function listFleets(
  ctx: Context,
  input: { page: Page; filter?: FleetFilter | null | undefined; fields?: Selection<Fleet> | undefined },
): Promise<Slice<Fleet>> {
  const company = authorize(ctx, 'fleets:read');
  const { within, tail } = pageSql(input.page, sql`f.id`);
  const rows = await execute<{ json: string }>(
    onReplica(ctx, input.filter ? ALL_ROWS : input.page.limit),
    sql`select ${jsonText(fleetJson, input.fields)} as json from fleet f
        where f.company = ${company} ${fleetsMatching(input.filter)} ${within} ${tail}`,
  );
  return sliceOf(parseAll<Fleet>(rows), input.page);
}

/** A page of the caller's fleets as JSON, oldest first. */
export async function listFleetsJson(ctx: Context, input: { page: Page; fields: Selection<Fleet> }): Promise<JsonPage> {
  const company = authorize(ctx, 'fleets:read');
  const object = jsonText(fleetJson, input.fields);
  return readJsonPage(ctx, object, sql`fleet f where f.company = ${company}`, sql`f.id`, input.page);
}

/** How many fleets listFleets has in all. */
export async function countFleets(ctx: Context, filter?: FleetFilter | null): Promise<number> {
  const company = authorize(ctx, 'fleets:read');
  const [row] = await execute<{ count: number }>(
    onReplica(ctx, ALL_ROWS),
    sql`select count(*)::int as count from fleet f where f.company = ${company} ${fleetsMatching(filter)}`,
  );
  return row?.count ?? 0;
}

/** `and` conditions on fleets `f`; throws ValidationFailed. */
export function fleetsMatching(filter: unknown) {
  const { nameStartsWith, vat } = readInput(fleetFilter, filter ?? {});
  return sql`${nameStartsWith ? sql`and f.name like ${likePrefix(nameStartsWith)}` : sql``} ${given(vat, (one) => sql`and f.vat = ${one}`)}`;
}

/** A LIKE pattern for what begins with this text, taken literally. */
export const likePrefix = (prefix: string): string => `${prefix.replaceAll(/[\\%_]/g, '\\$&')}%`;

/** A fleet of the company; `from` says of which database: a change is read back where it was made. Throws FleetNotFound. */
export async function readFleet(
  ctx: Context,
  from: typeof onReplica,
  company: string,
  fleetId: string,
): Promise<Fleet> {
  const [row] = isId(fleetId)
    ? await execute<{ json: string }>(
        from(ctx),
        sql`select ${jsonText(fleetJson)} as json from fleet f where f.company = ${company} and f.id = ${fleetId}`,
      )
    : [];
  if (!row) throw new FleetNotFound();
  return JSON.parse(row.json);
}

/** Throws FleetNotFound unless the fleet is the company's (of any company when null); gives its company. Locks nothing. */
export const ownerOfFleet = (ctx: Context, company: string | null, fleetId: string): Promise<string> =>
  lockedFleet(ctx, company, fleetId, sql``);

/**
 * Like ownerOfFleet, and keeps the fleet from being deleted until the transaction ends. To be called before vehicles of it
 * are locked: its deletion locks in this order, and the opposite one would be a deadlock.
 */
export const holdFleet = (ctx: Context, company: string | null, fleetId: string): Promise<string> =>
  lockedFleet(ctx, company, fleetId, sql`for key share`);

/** ownerOfFleet with a lock. */
export async function lockedFleet(
  ctx: Context,
  company: string | null,
  fleetId: string,
  lock: RawBuilder<unknown>,
): Promise<string> {
  const [row] = isId(fleetId)
    ? await execute<{ company: string }>(
        onPrimary(ctx),
        sql`select company from fleet where id = ${fleetId} ${company === null ? sql`` : sql`and company = ${company}`} ${lock}`,
      )
    : [];
  if (!row) throw new FleetNotFound();
  return row.company;
}

/** holdFleet for the fleets of these vehicles; gives the ids of those that are not being deleted, and waits for no other. */
export async function holdFleetsOf(ctx: Context, vehicleIds: readonly string[]): Promise<string[]> {
  const held = await execute<{ id: string }>(
    onPrimary(ctx),
    sql`select id from fleet where id in (select fleet_id from vehicle where id = any(${vehicleIds}::uuid[]))
        for key share skip locked`,
  );
  return held.map(({ id }) => id);
}

export const fleetJson = jsonTable('fleet', 'f', fleet, {
  vehicleCount: json.number('(select coalesce(sum(t.delta), 0) from vehicle_tally t where t.fleet_id = f.id)'),
});
const fleetObject = jsonObject(fleetJson);
export const everyFleetMember = everyMember(fleetJson);
