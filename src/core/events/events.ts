import type { NotNull } from 'kysely';
import { z } from 'zod';
import { vinOrNull } from '../../vin-files/index.ts';
import { authorize, type Context } from '../context.ts';
import { NotFound } from '../errors.ts';
import { exampleIds, field, replaced, timeField, uuidField } from '../fields.ts';
import { listSchema, timeSchema } from '../input.ts';
import { CREATION_ORDER, type FixedSortOrder, lostCursor } from '../sql/order.ts';
import { cursorOf, type ListInput, type PageArguments, readPageArguments } from '../sql/page.ts';
import { readItemsPage, readOneRow } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { jsonMembersOf, jsonObjectExpression, jsonObjectSql, jsonSql, type ValueSql } from '../sql/selection.ts';
import { db, isId, prepare } from '../sql/sql.ts';
import {
  eventDataField,
  eventDataSchemas,
  eventTypeField,
  eventTypeSchema,
  eventTypes,
  knownEventTypeSql,
} from './event-data.ts';
import { MOST_EVENT_TYPES, MOST_EVENT_VEHICLES } from './record-events.ts';

export const eventVehicleSchema = z
  .object({ id: z.uuid().describe('The id of the vehicle.'), vin: z.string().describe('The VIN of the vehicle.') })
  .describe('A vehicle that an event is about. It may have been deleted since.');

export const eventSchema = z
  .object({
    id: uuidField(
      'The id of the event, a UUID. It also serves as a cursor for `after`, and is the `webhook-id` of the event’s deliveries.',
      exampleIds.event,
    ),
    type: field(z.enum(eventTypes), 'The type of the event: the kind of change it records.', 'eligibility.changed'),
    timestamp: timeField('The time at which the event happened.'),
    company: field(z.string(), 'The name of the company that the event belongs to.', 'acme'),
    fleetId: field(
      z.uuid().nullable(),
      'The id of the fleet that the event is about, which may have been deleted since; null if it is about none.',
      exampleIds.fleet,
    ),
    contractId: field(
      z.uuid().nullable(),
      'The id of the contract that the event is about, which may have been deleted since; null if it is about none.',
      null,
    ),
    vehicles: field(
      z.array(eventVehicleSchema),
      'The vehicles that the event is about: at most 1,000, since a change to more makes several events.',
      [{ id: exampleIds.vehicle, vin: 'WBA3A5C50CF256985' }],
    ),
    vehicleCount: field(z.int(), 'The number of vehicles that the event is about.', 1),
    actor: field(
      z.string(),
      'The one who caused the event: the subject of the caller’s token, `anonymous` for a caller without one, or `system` for the gateway itself.',
      'system',
    ),
    requestId: field(z.string().nullable(), 'The id of the request that caused the event; null if none did.', null),
    data: field(
      z.union([...new Set(Object.values(eventDataSchemas))]),
      'The details of the event, with members that depend on its type.',
      { from: 'PENDING', to: 'ELIGIBLE', manufacturer: 'bmw', reason: null },
    ),
  })
  .meta({
    id: 'Event',
    description:
      'A change of the company’s data, recorded together with it: an entry of the audit trail, and the content of webhooks.',
  });
export type Event = z.output<typeof eventSchema>;

const aboutFrom = 'The time from which on the events happened (inclusive).';
const aboutTo = 'The time before which the events happened (exclusive).';
export const eventFilterSchema = z
  .object({
    types: listSchema(eventTypeSchema, MOST_EVENT_TYPES).nullish().describe('The types of the events: one of these.'),
    fleetId: z.string().nullish().describe('The id of the fleet that the events are about, itself or its vehicles.'),
    contractId: z.string().nullish().describe('The id of the contract that the events are about.'),
    historyId: z.string().nullish().describe('The id of the history item whose events are listed.'),
    vehicleId: z.string().nullish().describe('The id of the vehicle that the events are about.'),
    vin: z
      .string()
      .nullish()
      .describe('The VIN of the vehicle that the events are about, also from before it was last added.'),
    from: timeSchema.nullish().describe(aboutFrom),
    to: timeSchema.nullish().describe(aboutTo),
    since: replaced(timeSchema.nullish().describe(aboutFrom), 'from'),
    until: replaced(timeSchema.nullish().describe(aboutTo), 'to'),
  })
  .describe('Conditions on the events of a list or a stream. An event is given if it meets all that are set.');
/** An unparsed filter. */
export type EventFilter = Omit<z.input<typeof eventFilterSchema>, 'types'> & { types?: readonly string[] | null };

// Events are read from the primary: the log must not be shorter on one page than it was on the last.

export const getEvent = (ctx: Context, input: { id: string }): Promise<Event> =>
  readOneRow(ctx, eventResource, input, { company: authorize(ctx, 'fleets:read') });

/** A page of the events of the caller's company, in the order of the log. Throws ValidationFailed. */
export async function listEvents(ctx: Context, { page, filter }: ListInput<EventFilter>) {
  const company = authorize(ctx, 'fleets:read');
  return readItemsPage<Event>(ctx, eventResource, { company, page, filter, on: EVENT_PUBLISHED_SQL });
}

export const EVENT_PUBLISHED_SQL = 'e.position is not null';

/** The position of the event with this id or cursor; throws ValidationFailed for one that is not in the log. */
export async function positionOfEvent(ctx: Context, after: string): Promise<string> {
  const company = authorize(ctx, 'fleets:read');
  const { after: position } = readPageArguments({ after: eventCursor(after) });
  const [row] = position === null ? [] : await findPosition(ctx, { company, id: position.id });
  if (!row) throw notInLog('after');
  return row.position;
}

const notInLog = lostCursor('is no event that is still kept; read the present state, and follow on from now');

const findPosition = prepare((p: { company: string; id: string }) =>
  db
    .selectFrom('event')
    .select('position')
    .where('company', '=', p.company)
    .where('id', '=', p.id)
    .where('position', 'is not', null)
    .$narrowType<{ position: NotNull }>(),
);

/** The cursor for `after` or `before`, which may be the id of an event: receivers of webhooks know ids. */
export const eventCursor = (id: string): string => (isId(id) ? cursorOf({ id, text: null }, CREATION_ORDER) : id);

const readEventPage = ({ after, before, ...sizes }: EventPageInput): PageArguments =>
  readPageArguments({ ...sizes, after: after && eventCursor(after), before: before && eventCursor(before) });
type EventPageInput = Record<string, unknown> & Partial<Record<'after' | 'before', string | null>>;

const vehicleMembers = { id: jsonSql.code('u.id'), vin: jsonSql.code('u.vin') };
const vehicles = 'unnest(e.vehicle_ids, e.vins) with ordinality u(id, vin, n)';
const eventVehicles: ValueSql = {
  sql: `(select '[' || coalesce(string_agg(${jsonObjectSql(vehicleMembers)}, ',' order by u.n), '') || ']'
    from ${vehicles})`,
};

const eventJson = jsonMembersOf('event', 'e', eventSchema, {
  timestamp: jsonSql.time('e.at'),
  vehicles: eventVehicles,
  vehicleCount: jsonSql.number('cardinality(e.vehicle_ids)'),
});
export const eventJsonExpression = jsonObjectExpression<Event>(eventJson);

/** SQL for an event as text, with its vehicles unless there are more than `most`. */
export const eventTextSql = (most: number): string =>
  jsonObjectSql({
    ...eventJson,
    vehicles: { sql: `case when cardinality(e.vehicle_ids) > ${most} then '[]' else ${eventVehicles.sql} end` },
  });

/** Whether a list of an event has this element: written twice, so that the planner prefers the inverted index. */
export const listContainsSql = (list: string, one: string) => `${list} @> array[${one}] and ${list} @> array[${one}]`;

/** Only callers with this scope see events of contracts. */
export const CONTRACT_EVENTS_ACCESS = { scope: 'contracts:read', where: `e.type not like 'contract.%'` } as const;

const logOrder: FixedSortOrder = {
  columns: ['e.position'],
  placeOf: (id) => [
    `(select p.position from event p where p.company = $company and p.id = ${id}::uuid and p.position is not null)`,
  ],
  lost: notInLog,
};

/** The order for the few events of a vehicle. The log's own index would be walked until it yields a page of them. */
export const unindexedEventOrder: FixedSortOrder = { ...logOrder, unindexed: true };

/** A bound of the positions of events since (or before) a time: events are written at their time or within an hour. */
const positionAt = (sign: string, compared: string, direction: string) => `(select near.position from event near
  where near.company = $company and near.position is not null and near.id ${compared} (lpad(to_hex(greatest(0,
    extract(epoch from ?::timestamptz ${sign} interval '1 hour') * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
  order by near.id ${direction} limit 1)`;

const HAPPENED_FROM = `e.at >= ?::timestamptz and e.position >= coalesce(${positionAt('-', '<', 'desc')}, 0)`;
const HAPPENED_TO = `e.at < ?::timestamptz and e.position <= coalesce(${positionAt('+', '>=', 'asc')}, ${2n ** 63n - 1n})`;

export const eventResource: Resource = {
  table: 'event e',
  id: 'e.id',
  members: eventJson,
  fields: {
    type: eventTypeField('e.type'),
    data: eventDataField,
    vehicles: {
      kind: 'rows',
      from: vehicles,
      order: 'u.n',
      most: MOST_EVENT_VEHICLES,
      members: { vehicleId: vehicleMembers.id, vin: vehicleMembers.vin },
    },
  },
  filter: eventFilterSchema,
  conditions: {
    id: ['e.id = ?::uuid', idOrNull],
    types: [`${knownEventTypeSql('e.type')} = any(?::text[])`],
    fleetId: ['e.fleet_id is not null and e.fleet_id = ?::uuid', idOrNull],
    contractId: ['e.contract_id is not null and e.contract_id = ?::uuid', idOrNull],
    historyId: ['e.history_id is not null and e.history_id = ?::uuid', idOrNull],
    vehicleId: [listContainsSql('e.vehicle_ids', '?::uuid'), idOrNull],
    vin: [listContainsSql('e.vins', '?::text'), vinOrNull],
    from: [HAPPENED_FROM],
    to: [HAPPENED_TO],
    since: [HAPPENED_FROM],
    until: [HAPPENED_TO],
  },
  order: logOrder,
  leading: { fleetId: 'e.fleet_id', contractId: 'e.contract_id', historyId: 'e.history_id' },
  // Of no index, so that the planner finds them by the vehicles or VINs.
  seeks: ['vehicleId', 'vin'].map((by) => ({ by, finds: [{ order: 'greatest(e.position)' }] })),
  readPage: readEventPage,
  lacking: CONTRACT_EVENTS_ACCESS,
  primary: true,
  missing: () => new NotFound('There is no event with this id, or it is no longer kept.'),
};
