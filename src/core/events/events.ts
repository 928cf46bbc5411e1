import { type NotNull, type RawBuilder, sql } from 'kysely';
import { authorize, type Context, hasScope } from '../context.ts';
import { NotFound, ValidationFailed } from '../errors.ts';
import { readInput } from '../input.ts';
import { jsonTable } from '../sql/json-table.ts';
import type { NodeSource } from '../sql/node.ts';
import { BY_CREATION } from '../sql/order.ts';
import { betweenSql, cursorOf, type Page, readPage, type Slice, sliceOf } from '../sql/page.ts';
import { prepare } from '../sql/prepare.ts';
import { json, jsonObject, type ValueSql } from '../sql/selection.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { firstIdOf, given, isId } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { vinOrNull } from '../vin.ts';
import { type Event, type EventFilter, event, eventFilter } from './event.ts';

// Events are read from the primary: the log must not be shorter on one page than it was on the last.

/** One event of the caller's company; throws NotFound. */
export async function getEvent(ctx: Context, input: { id: string }): Promise<Event> {
  const visible = visibleTo(ctx);
  const [row] = isId(input.id)
    ? await execute<{ json: Event }>(
        onPrimary(ctx),
        sql`select ${eventObject} as json from event e where e.id = ${input.id} ${visible}`,
      )
    : [];
  if (!row) throw new NotFound('There is no event with this id, or it is no longer kept.');
  return row.json;
}

/**
 * A page of the events of the caller's company, in the order of the log; without their vehicles where these are not wanted,
 * who may be a thousand. Throws ValidationFailed.
 */
export async function listEvents(
  ctx: Context,
  input: { page: Page; filter?: EventFilter | null | undefined; vehicles?: boolean },
): Promise<Slice<Event>> {
  const visible = visibleTo(ctx);
  const { within, tail } = await pageOfLog(ctx, input.page);
  const rows = await execute<{ json: Event }>(
    onPrimary(ctx),
    sql`select ${eventOf(input)} as json from event e where e.position is not null ${visible} ${matching(input.filter)} ${within} ${tail}`,
  );
  return sliceOf(
    rows.map(({ json }) => json),
    input.page,
  );
}

/** How many events listEvents has in all. */
export async function countEvents(ctx: Context, filter?: EventFilter | null): Promise<number> {
  const visible = visibleTo(ctx);
  const [row] = await execute<{ count: number }>(
    onPrimary(ctx),
    sql`select count(*)::int as count from event e where e.position is not null ${visible} ${matching(filter)}`,
  );
  return row?.count ?? 0;
}

const TRIMMED_AT_ONCE = 1000;

/** Forgets events past their time with their deliveries, in small steps; gives whether there may be more. */
export async function trimEvents(ctx: Context): Promise<boolean> {
  const oldest = ctx.now().getTime() - ctx.services.config.EVENTS_KEEP_DAYS * 86_400_000;
  const rows = await trim(onPrimary(ctx), { before: firstIdOf(oldest) });
  return rows.length === TRIMMED_AT_ONCE;
}

const trim = prepare((p: { before: string }) =>
  db
    .with('old', (q) =>
      q
        .selectFrom('event')
        .select(['company', 'id'])
        .where('id', '<', p.before)
        .where('position', 'is not', null)
        .orderBy('id')
        .limit(TRIMMED_AT_ONCE),
    )
    .deleteFrom('event as e')
    .using('old')
    .whereRef('e.company', '=', 'old.company')
    .whereRef('e.id', '=', 'old.id')
    .returning('e.id'),
);

/**
 * Where in the log an event stands, for reading on after it. `after` is its id or its cursor.
 * Throws ValidationFailed for an event that is not, or no longer, in the company's log: going on from anywhere else
 * would pass something over in silence.
 */
export async function positionOf(ctx: Context, after: string, path = 'after'): Promise<string> {
  const company = authorize(ctx, 'fleets:read');
  const place = readPage({ after: eventCursor(after) }).after;
  const [row] = place === null ? [] : await findPosition(onPrimary(ctx), { company, id: place.id });
  if (row) return row.position;
  const message = 'is no event that is still kept; read the present state, and follow on from now';
  throw new ValidationFailed([{ path, code: 'INVALID_CURSOR', message }]);
}

const findPosition = prepare((p: { company: string; id: string }) =>
  db
    .selectFrom('event')
    .select('position')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('position', 'is not', null)
    .$narrowType<{ position: NotNull }>(),
);

/** The cursor for `after` or `before`: as it came, or of the event whose id came. Receivers of webhooks know ids. */
export const eventCursor = (value: string): string =>
  isId(value) ? cursorOf({ id: value, text: null }, BY_CREATION) : value;

/** Connection arguments of a list of events; throws ValidationFailed. */
export const readEventPage = ({ after, before, ...sizes }: EventPageInput): Page =>
  readPage({ ...sizes, after: after && eventCursor(after), before: before && eventCursor(before) });
type EventPageInput = { after?: string | null | undefined; before?: string | null | undefined } & Record<
  string,
  unknown
>;

/** Like pageSql, in the order of the log. */
export async function pageOfLog(ctx: Context, page: Page) {
  const { after, before, backward, limit } = page;
  const bounds = {
    after: after && (await positionOf(ctx, after.id)),
    before: before && (await positionOf(ctx, before.id, 'before')),
  };
  return {
    within: betweenSql(
      { ...page, ...bounds },
      (operator, orEqual, position) =>
        sql`e.position ${sql.raw(`${operator}${orEqual ? '=' : ''}`)} ${position}::bigint`,
    ),
    tail: sql`order by ${backward ? sql`e.position desc` : sql`e.position`} limit ${limit + 1}`,
  };
}

/** What the caller may read: events of its company, those of contracts only with the scope for contracts. */
export function visibleTo(ctx: Context): RawBuilder<unknown> {
  const company = authorize(ctx, 'fleets:read');
  const contracts = hasScope(ctx, 'contracts:read');
  return sql`and e.company = ${company} ${contracts ? sql`` : sql`and e.type not like 'contract.%'`}`;
}

/** `and` conditions of a filter; throws ValidationFailed. */
export function matching(filter?: EventFilter | null): RawBuilder<unknown> {
  const { types, fleetId, contractId, vehicleId, vin, since, until } = readInput(eventFilter, filter ?? {});
  const idOrNull = (id: string) => (isId(id) ? id : null);
  return sql`${given(types, (some) => sql`and e.type = any(${some}::text[])`)}
    ${given(fleetId, (one) => sql`and e.fleet_id = ${idOrNull(one)}::uuid`)}
    ${given(contractId, (one) => sql`and e.contract_id = ${idOrNull(one)}::uuid`)}
    ${given(vehicleId, (one) => sql`and e.vehicle_ids @> array[${idOrNull(one)}::uuid]`)}
    ${given(vin, (one) => sql`and e.vins @> array[${vinOrNull(one)}::text]`)}
    ${given(since, (time) => sql`and e.at >= ${time}::timestamptz`)}
    ${given(until, (time) => sql`and e.at < ${time}::timestamptz`)}`;
}

const eventVehicles: ValueSql = {
  sql: `(select '[' || coalesce(string_agg(format('{"id":"%s","vin":"%s"}', u.id, u.vin), ',' order by u.n), '') || ']'
    from unnest(e.vehicle_ids, e.vins) with ordinality u(id, vin, n))`,
};

const eventJson = jsonTable('event', 'e', event, {
  timestamp: json.time('e.at'),
  vehicles: eventVehicles,
  vehicleCount: json.number('cardinality(e.vehicle_ids)'),
});
/** The JSON object of an event `e`. */
export const eventObject = jsonObject(eventJson);
const none: ValueSql = { sql: `'[]'` };
const withoutVehicles = jsonObject<Event>({ ...eventJson, vehicles: none });
/** With its vehicles, unless they are not wanted. */
export const eventOf = ({ vehicles = true }: { vehicles?: boolean }) => (vehicles ? eventObject : withoutVehicles);

export const eventNode: NodeSource = {
  alias: 'e',
  scope: 'fleets:read',
  from: (ctx) => sql`event e where true ${visibleTo(ctx)}`,
  json: eventOf,
};

/** With its vehicles only where they are at most so many. */
export const eventWithFewVehicles = (most: number): RawBuilder<unknown> =>
  jsonObject<Event>({
    ...eventJson,
    vehicles: { sql: `case when cardinality(e.vehicle_ids) > ${most} then '[]' else ${eventVehicles.sql} end` },
  });
