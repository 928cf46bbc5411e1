import { sql } from 'kysely';
import { eligibilityStatuses } from '../../entities/fleet.ts';

// Clauses of the statement that publishes events (log.ts), for what is kept of them beside the log.

/** No fleet, in the key of a row. */
const NONE = '00000000-0000-0000-0000-000000000000';

/**
 * The next events of a company, with their positions. `key` is what those have in common that are one item of the history: one
 * request, or else one type, of one actor about one fleet in one hour; those of contracts apart, since not everybody sees them.
 */
export const dueEvents = (p: { company: string }, most: number) => sql<{ id: string; position: string; key: string }>`(
  select *, encode(substr(sha256(convert_to(concat_ws(' ', fleet_id, extract(epoch from hour), coalesce(request_id, type),
    type like 'contract.%', actor), 'UTF8')), 1, 16), 'hex')::uuid as key
  from (
    select id, type, fleet_id, actor, request_id, at, date_trunc('hour', at, 'UTC') as hour,
      cardinality(vehicle_ids) as vehicles, data ->> 'to' as status, (data ->> 'importId')::uuid as import_id,
      log.position + row_number() over (order by seq) as position
    from (
      select * from event where company = ${p.company} and position is null order by seq limit ${sql.lit(most)}
    ) next cross join log
  ) due)`;

const statuses = eligibilityStatuses.map((status) => ({ column: sql.ref(status.toLowerCase()), status }));
const counts = ['events', 'vehicles', ...eligibilityStatuses.map((status) => status.toLowerCase())].map(sql.ref);
const grown = counts.map((column) => sql`${column} = history.${column} + excluded.${column}`);

/** Types whose single event stands for many others of the same moment. */
const TELLING = sql.raw(`('import.completed', 'fleet.deleted')`);

/** Adds the events `due` to the items of the history that they are parts of; gives these. */
export const keepHistory = (p: { company: string }) => sql<{ id: string; key: string }>`(
  insert into history (company, key, position, type, fleet_id, import_id, actor, request_id, first_at, last_at,
    ${sql.join(counts)})
  select ${p.company}, key, min(position),
    (array_agg(type order by type in ${TELLING} desc, position))[1], fleet_id, (array_agg(import_id))[1], actor,
    max(request_id), min(at), max(at), count(*), sum(vehicles),
    ${sql.join(statuses.map(({ status }) => sql`count(*) filter (where type = 'eligibility.changed' and status = ${sql.lit(status)})`))}
  from due group by key, fleet_id, actor
  on conflict (company, key) do update set
    type = case when excluded.type in ${TELLING} then excluded.type else history.type end,
    import_id = coalesce(history.import_id, excluded.import_id),
    first_at = least(history.first_at, excluded.first_at), last_at = greatest(history.last_at, excluded.last_at),
    ${sql.join(grown)}
  returning id, key)`;

/** Counts the events `due` by the hour. */
export const countActivity = (p: { company: string }) => sql<{ company: string }>`(
  insert into activity (company, hour, fleet_id, type, events, vehicles)
  select ${p.company}, hour, coalesce(fleet_id, ${sql.lit(NONE)}), type, count(*), sum(vehicles)
  from due group by hour, coalesce(fleet_id, ${sql.lit(NONE)}), type
  on conflict (company, hour, fleet_id, type) do update set
    events = activity.events + excluded.events, vehicles = activity.vehicles + excluded.vehicles
  returning company)`;
