import { schedule, scheduleByTime, worker } from './tables.ts';

/** The last migration of commit 93650d5, whose tables this version takes over. */
const LAST = 'Migration20261122060000';

/** Adds an entry for each company that has something due, now or later (src/core/schedule.ts). */
export const scheduleAll = `insert into schedule (company, kind, due_at)
  ${['vehicle', 'contract', 'delivery']
    .map((kind) => `select company, '${kind}', min(due_at) from ${kind} where due_at is not null group by company`)
    .join(' union all ')}`;

/** Removes what earlier versions kept for each other's sake, and what this version no longer reads. */
const changes = [
  // Events had positions in one order over all companies. A webhook may be held from any of them.
  `do $$ begin
    if to_regclass('event_position') is not null then
      update company set position = greatest(position, (select last_value from event_position));
      drop sequence event_position;
    end if;
  end $$`,
  'drop index if exists event_position_key',
  `drop function if exists vehicle_tally_insert, vehicle_tally_update, vehicle_tally_delete, fleet_vehicles_delete,
    company_insert, company_of_fleet, company_of_import, company_of_webhook cascade`,
  'drop procedure if exists drop_triggers',
  `drop index if exists contract_due, contract_fleet, contract_vehicle, vehicle_by_id, vehicle_list,
    vehicle_tally_fleet, import_by_id, webhook_by_id`,
  'alter table import_batch drop column warned',
  // Filters look rows up for each fleet.
  'drop index vehicle_by_status, vehicle_by_manufacturer',
  'create index vehicle_by_status on vehicle (company, fleet_id, status, manufacturer)',
  `create index vehicle_by_reason on vehicle (company, fleet_id, (reason ->> 'actor'), (reason ->> 'code'))
    where reason is not null`,
  schedule,
  scheduleAll,
  scheduleByTime,
  worker,
  'alter table vehicle drop column claimed, add column claimed_by uuid',
  // Plans no longer rest on invented numbers of companies and fleets.
  ...['contract', 'event', 'vehicle'].map((table) => `alter table ${table} alter fleet_id reset (n_distinct)`),
  ...['contract', 'delivery', 'event', 'fleet', 'idempotency_key', 'import', 'import_batch', 'import_rejection']
    .concat('vehicle', 'vehicle_tally', 'webhook')
    .map((table) => `alter table ${table} alter company reset (n_distinct)`),
  `alter table import add column storing_since timestamptz, drop constraint import_state_check,
    add constraint import_state_check check (state in ('RUNNING', 'STORING', 'COMPLETED', 'FAILED'))`,
];

/**
 * The statements that bring the tables of commit 93650d5 to those of a new database.
 * @throws {Error} if an older commit made the tables.
 */
export async function takeOver(execute: (statement: string) => Promise<Record<string, unknown>[]>): Promise<string[]> {
  const rows = await execute('select max(name) as last from mikro_orm_migrations');
  if (rows[0]?.last !== LAST) {
    throw new Error(
      'An older development version made this database. Check out commit 93650d5, run `npm ci`, `npm run migrate -- up` ' +
        'and `npm run migrate -- finish` there, then start this version again.',
    );
  }
  return [...changes, 'delete from mikro_orm_migrations'];
}
