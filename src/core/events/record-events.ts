import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { isoSql } from '../sql/selection.ts';
import { onPrimary } from '../sql/send.ts';
import { db, type Tables } from '../sql/tables.ts';

/** What is told of. Wire names: subscribers branch on them, so they never change. */
export const eventTypes = [
  'fleet.created',
  'fleet.updated',
  'fleet.deleted',
  'vehicle.added',
  'vehicle.moved',
  'vehicle.removed',
  'eligibility.changed',
  'import.completed',
  'contract.created',
  'contract.deleted',
  'contract.started',
  'contract.ended',
  'webhook.test',
] as const;
export type EventType = (typeof eventTypes)[number];

/** A list of types may name some twice, but not for ever. */
export const MOST_TYPES = 100;

/** Something that became true in the open transaction. `data` says what changed, in few words. */
export interface Fact {
  type: EventType;
  company: string;
  fleetId?: string;
  contractId?: string;
  vehicles?: readonly { id: string; vin: string }[];
  data?: Record<string, unknown>;
}

/** An event names at most so many vehicles; more make several events. */
export const EVENT_VEHICLES = 1000;

/** What the service does by itself, whoever's request it happens in. */
const bySystem = new Set<EventType>(['eligibility.changed', 'contract.started', 'contract.ended']);

/** Records facts, in one statement; to be called in the transaction that makes them true. */
export async function record(ctx: Context, ...facts: Fact[]): Promise<void> {
  if (facts.length === 0) return;
  const rows = facts.flatMap(batches).map(({ vehicles = [], ...fact }) => ({
    type: fact.type,
    company: fact.company,
    fleet_id: fact.fleetId,
    contract_id: fact.contractId,
    vehicle_ids: vehicles.map(({ id }) => id),
    vins: vehicles.map(({ vin }) => vin),
    actor: actorOf(ctx, fact.type),
    request_id: requestIdOf(ctx, fact.type),
    data: fact.data ?? {},
  }));
  await insertFacts(onPrimary(ctx), { rows: JSON.stringify(rows), now: ctx.now() });
  announceEvents(ctx);
}

type FactRow = Pick<
  Selectable<Tables['event']>,
  'type' | 'company' | 'fleet_id' | 'contract_id' | 'vehicle_ids' | 'vins' | 'actor' | 'request_id' | 'data'
>;

const insertFacts = prepare((p: { rows: string; now: Date }) =>
  db
    .insertInto('event')
    .columns(['type', 'company', 'fleet_id', 'contract_id', 'vehicle_ids', 'vins', 'actor', 'request_id', 'data', 'at'])
    .expression((q) =>
      q
        .selectFrom(
          sql<FactRow>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'f'>(
            sql`f(type text, company text, fleet_id uuid, contract_id uuid, vehicle_ids uuid[], vins text[], actor text,
              request_id text, data jsonb)`,
          ),
        )
        .selectAll()
        .select(({ cast, val }) => cast<Date>(val(p.now), 'timestamptz').as('at')),
    ),
);

/** Has what was recorded published; to be called after statements of recordEach that are no transaction's. */
export const announceEvents = (ctx: Context): void => ctx.services.changes.announce('due', 'event');

function batches(fact: Fact): Fact[] {
  const { vehicles } = fact;
  if (!vehicles || vehicles.length <= EVENT_VEHICLES) return [fact];
  const starts = Array.from(
    { length: Math.ceil(vehicles.length / EVENT_VEHICLES) },
    (_, part) => part * EVENT_VEHICLES,
  );
  return starts.map((start) => ({ ...fact, vehicles: vehicles.slice(start, start + EVENT_VEHICLES) }));
}

/**
 * A statement that records one event for each row of `facts`, however many there are. These are
 * (company, fleet_id, contract_id, vehicle_ids, vins, data).
 */
export const recordEach = (ctx: Context, type: EventType, facts: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`insert into event (type, actor, request_id, at, company, fleet_id, contract_id, vehicle_ids, vins, data)
      select ${type}::text, ${actorOf(ctx, type)}::text, ${requestIdOf(ctx, type)}::text, ${ctx.now()}::timestamptz, f.*
      from (${facts}) f`;

/** Facts for recordEach about all vehicles of `source`, which has the columns company, fleet_id, id and vin. */
export const vehicleBatches = (source: RawBuilder<unknown>, data: Record<string, unknown> = {}): RawBuilder<unknown> =>
  sql`select company, fleet_id, null::uuid, array_agg(id), array_agg(vin), ${JSON.stringify(data)}::jsonb
      from (select *, (row_number() over () - 1) / ${EVENT_VEHICLES}::int as batch from (${source}) s) v
      group by company, fleet_id, batch`;

/** What an event of a contract `c` says of it; the same as contractDataOf makes. */
export const contractData = sql.raw<Record<string, unknown>>(
  `jsonb_build_object('name', c.name, 'pack', c.pack, 'from', ${isoSql('c.starts_at')}, 'to', ${isoSql('c.ends_at')})`,
);
export const contractDataOf = ({ name, pack, from, to }: { name: string; pack: string; from: string; to: string }) => ({
  name,
  pack,
  from,
  to,
});

function actorOf(ctx: Context, type: EventType): string {
  return bySystem.has(type) ? 'system' : ctx.caller?.subject || 'anonymous';
}

const requestIdOf = (ctx: Context, type: EventType): string | null => (bySystem.has(type) ? null : ctx.requestId);
