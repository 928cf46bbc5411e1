import type { AliasedExpression, Insertable } from 'kysely';
import type { Context } from '../context.ts';
import { db, type Tables } from '../sql/tables.ts';
import type { EventType } from './record-events.ts';

// Events as steps of prepared statements, of what callers do; what the service does by itself is recordEach's.

/** In whose name a statement records events, and when: among its values. */
export interface By {
  actor: string;
  request_id: string | null;
  at: string;
}

/** The caller, now. */
export const byCaller = (ctx: Context): By => ({
  actor: ctx.caller?.subject || 'anonymous',
  request_id: ctx.requestId,
  at: ctx.now().toISOString(),
});

/** The columns that eventsOf fills, in its order. */
export const eventColumns = [
  'type',
  'actor',
  'request_id',
  'at',
  'company',
  'fleet_id',
  'contract_id',
  'vehicle_ids',
  'vins',
  'data',
] as const;

interface FactRow {
  company: string;
  fleet_id: string | null;
  contract_id: string | null;
  vehicle_ids: string[];
  vins: string[];
  data: unknown;
}

/** Rows for `insert into event`: one of this type for each of `facts`. */
export const eventsOf = (type: EventType, by: By, facts: AliasedExpression<FactRow, 'f'>) =>
  db
    .selectFrom(facts)
    .select(({ cast, val }) => [
      cast<string>(val(type), 'text').as('type'),
      cast<string>(val(by.actor), 'text').as('actor'),
      cast<string | null>(val(by.request_id), 'text').as('request_id'),
      cast<string>(val(by.at), 'timestamptz').as('at'),
      'company',
      'fleet_id',
      'contract_id',
      'vehicle_ids',
      'vins',
      'data',
    ]);

/** The values that one event takes of `by`. */
export const eventBy = (type: EventType, { actor, request_id, at }: By) =>
  ({ type, actor, request_id, at }) satisfies Partial<Insertable<Tables['event']>>;
