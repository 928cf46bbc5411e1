import { z } from 'zod';
import { authorize, type Context } from '../context.ts';
import { NotFound } from '../errors.ts';
import { eventTypeField, knownEventTypeSql } from '../events/event-data.ts';
import { CONTRACT_EVENTS_ACCESS, type EventFilter, eventFilterSchema, eventSchema } from '../events/events.ts';
import { exampleIds, field, timeField, uuidField } from '../fields.ts';
import { eligibilitySummarySchema } from '../fleets/fleet.ts';
import { eligibilitySummaryJson } from '../fleets/fleets.ts';
import { lostCursor } from '../sql/order.ts';
import type { ListInput } from '../sql/page.ts';
import { type RowWriter, readTextPage } from '../sql/read.ts';
import { idOrNull, type Resource } from '../sql/resource.ts';
import { jsonMembersOf, jsonObjectSql, jsonSql } from '../sql/selection.ts';

export const historyItemSchema = z
  .object({
    id: uuidField('The id of the history item, a UUID: the same in GraphQL and REST.', exampleIds.event),
    type: field(
      eventSchema.shape.type,
      'The type of the history item’s events. If they have several, it is `import.completed` or `fleet.deleted` if among them, otherwise that of the first event.',
      'import.completed',
    ),
    from: timeField('The time of the history item’s first event.'),
    to: timeField('The time of the history item’s last event.', '2026-11-20T08:00:02.000Z'),
    fleetId: eventSchema.shape.fleetId,
    importId: field(
      z.uuid().nullable(),
      'The id of the import that the history item reports; null for other items.',
      '019aa1b2-8f5e-7061-8c8d-2e3f4a5b6c7d',
    ),
    actor: eventSchema.shape.actor,
    requestId: eventSchema.shape.requestId,
    manufacturer: field(
      z.string().nullable(),
      'The manufacturer that decided, if the history item is an hour of its decisions about contracts (`contract.activated`, `contract.rejected`, `contract.deactivated`, `contract.failed`); otherwise null.',
      null,
    ),
    count: field(z.int(), 'The number of events in the history item.', 4),
    vehicleCount: field(z.int(), 'The history item’s number of vehicles; one in two events counts twice.', 2970),
    statuses: eligibilitySummarySchema
      .nullable()
      .describe(
        'The number of answers of each eligibility status, if the history item is an hour of manufacturers’ answers; otherwise null.',
      ),
  })
  .meta({
    id: 'HistoryItem',
    description:
      'An entry of the company’s history: all events of one request about one fleet, or all of one type that the gateway itself caused there within an hour, such as the manufacturers’ answers.',
  });

const historyFilterSchema = eventFilterSchema.pick({ fleetId: true, types: true });

const ANSWERS = `h.type = 'eligibility.changed'`;
const statuses = eligibilitySummaryJson('h');

export const historyResource: Resource = {
  table: 'history h',
  id: 'h.id',
  members: jsonMembersOf('history', 'h', historyItemSchema, {
    from: jsonSql.time('h.first_at'),
    to: jsonSql.time('h.last_at'),
    count: jsonSql.number('h.events'),
    vehicleCount: jsonSql.number('h.vehicles'),
    statuses: { sql: `case when ${ANSWERS} then ${jsonObjectSql(statuses)} else 'null' end` },
  }),
  fields: {
    type: eventTypeField('h.type'),
    manufacturer: { kind: 'manufacturer', slug: 'h.manufacturer' },
    statuses: { kind: 'object', unless: `not (${ANSWERS})`, members: statuses },
  },
  filter: historyFilterSchema,
  conditions: {
    id: ['h.id = ?::uuid', idOrNull],
    fleetId: ['h.fleet_id is not null and h.fleet_id = ?::uuid', idOrNull],
    types: [`${knownEventTypeSql('h.type')} = any(?::text[])`],
  },
  leading: { fleetId: 'h.fleet_id' },
  order: {
    columns: ['h.position'],
    descending: true,
    placeOf: (id) => [`(select p.position from history p where p.company = $company and p.id = ${id}::uuid)`],
    lost: lostCursor('is nothing of the history that is still kept; begin with the newest'),
  },
  lacking: { ...CONTRACT_EVENTS_ACCESS, where: `h.type not like 'contract.%'` },
  primary: true,
  missing: () => new NotFound('There is nothing with this id in the history, or it is no longer kept.'),
};

type HistoryInput = ListInput<Pick<EventFilter, 'fleetId' | 'types'>>;

export const listHistory = (ctx: Context, writer: RowWriter, input: HistoryInput) =>
  readTextPage(ctx, historyResource, writer, { company: authorize(ctx, 'fleets:read'), ...input });
