import { type AliasedExpression, type Expression, type QueryCreator, type Selectable, sql } from 'kysely';
import type { z } from 'zod';
import type { Context } from '../context.ts';
import { mendText } from '../input.ts';
import { db, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import type { EventType, eventDataSchemas } from './event-data.ts';

export const MOST_EVENT_TYPES = 100;

export type EventFact = { [Type in EventType]: FactOf<Type> }[EventType];
interface FactOf<Type extends EventType> {
  type: Type;
  data?: z.input<(typeof eventDataSchemas)[Type]>;
  company: string;
  fleetId?: string;
  contractId?: string;
  vehicles?: readonly { id: string; vin: string }[];
}

/** The most vehicles that an event names; more vehicles make several events. */
export const MOST_EVENT_VEHICLES = 1000;

/** The actor, request and time (ISO 8601) of events, among a statement's values. */
export interface EventOrigin {
  actor: string;
  request_id: string | null;
  at: string;
}

export const callerOrigin = (ctx: Context): EventOrigin => ({
  actor: mendText(ctx.caller?.subject || 'anonymous'),
  request_id: ctx.requestId,
  at: ctx.now().toISOString(),
});

export const systemOrigin = (ctx: Context) => ({ actor: 'system', request_id: null, at: ctx.now().toISOString() });

/** Records facts of the open transaction in one statement, and gives the events' ids. */
export async function recordEvents(ctx: Context, facts: readonly EventFact[], by = callerOrigin(ctx)) {
  if (facts.length === 0) return [];
  const rows = facts.flatMap(
    ({ type, data = {}, company, fleetId: fleet_id, contractId: contract_id, vehicles = [] }) =>
      batchesOf(vehicles).map((batch) => ({
        ...{ type, ...by, company, fleet_id, contract_id, data },
        vehicle_ids: batch.map(({ id }) => id),
        vins: batch.map(({ vin }) => vin),
      })),
  );
  const events = await insertFacts(ctx, { rows: JSON.stringify(rows) });
  announceEvents(ctx);
  return events.map(({ id }) => id);
}

function batchesOf<T>(all: readonly T[]): (readonly T[])[] {
  const count = Math.max(1, Math.ceil(all.length / MOST_EVENT_VEHICLES));
  return Array.from({ length: count }, (_, n) => all.slice(n * MOST_EVENT_VEHICLES, (n + 1) * MOST_EVENT_VEHICLES));
}

const factColumns = ['company', 'fleet_id', 'contract_id', 'vehicle_ids', 'vins', 'data'] as const;
const eventColumns = ['type', 'actor', 'request_id', 'at', ...factColumns] as const;

type EventRow = Selectable<Tables['event']>;
type FactRow = Omit<Pick<EventRow, (typeof factColumns)[number]>, 'data'> & { data: unknown };
type FactRows = Expression<FactRow> & { as<A extends string>(alias: A): AliasedExpression<FactRow, A> };

/** A `with` clause that records an event for each row, by type. */
export function eventsClause(q: QueryCreator<Tables>, by: EventOrigin, events: Partial<Record<EventType, FactRows>>) {
  const [first, ...others] = Object.entries(events).map(([type, facts]) =>
    db
      .selectFrom(facts.as('f'))
      .select(({ cast, val }) => [
        cast<string>(val(type), 'text').as('type'),
        cast<string>(val(by.actor), 'text').as('actor'),
        cast<string | null>(val(by.request_id), 'text').as('request_id'),
        cast<string>(val(by.at), 'timestamptz').as('at'),
        ...factColumns,
      ]),
  );
  if (!first) throw new TypeError('no event is named');
  const rows = others.reduce((all, other) => all.unionAll(other), first);
  return q.insertInto('event').columns(eventColumns).expression(rows);
}

/** Facts for events: each of at most MOST_EVENT_VEHICLES of these vehicles. */
export function vehicleFactsQuery(
  vehicles: AliasedExpression<Pick<Selectable<Tables['vehicle']>, 'company' | 'fleet_id' | 'id' | 'vin'>, 'v'>,
) {
  const numbered = db
    .selectFrom(vehicles)
    .selectAll()
    .select(sql<string>`(row_number() over () - 1) / ${sql.lit(MOST_EVENT_VEHICLES)}`.as('batch'));
  return db
    .selectFrom(numbered.as('v'))
    .select(({ fn }) => [
      'company',
      'fleet_id',
      sql<null>`null::uuid`.as('contract_id'),
      fn.agg<string[]>('array_agg', ['id']).as('vehicle_ids'),
      fn.agg<string[]>('array_agg', ['vin']).as('vins'),
      sql`'{}'::jsonb`.as('data'),
    ])
    .groupBy(['company', 'fleet_id', 'batch'])
    .orderBy('batch');
}

const insertFacts = prepare((p: { rows: string }) =>
  db
    .insertInto('event')
    .columns(eventColumns)
    .expression((q) =>
      q.selectFrom(sql<EventRow>`jsonb_populate_recordset(null::event, ${p.rows}::jsonb)`.as('f')).select(eventColumns),
    )
    .returning('id'),
);

/** Wakes the publishing job after a prepared statement that records events. */
export const announceEvents = (ctx: Context): void => ctx.services.changes.announce('due', 'event');
