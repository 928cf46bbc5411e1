import { Migration } from '@mikro-orm/migrations';
import { scheduleByTime, tables } from './tables.ts';

/** All tables and indexes of the first release. */
export class Migration20261123000000 extends Migration {
  override async up(): Promise<void> {
    const [found] = await this.execute(`
      select to_regclass(quote_ident(current_schema()) || '.fleet') is not null as tables`);
    if (found?.tables) throw new Error(DEVELOPMENT);
    for (const statement of [...tables, ...indexes]) this.addSql(statement);
  }
}

const DEVELOPMENT =
  'A development version before 0.2.0 made these tables. Start version 0.4.0 on them once, then this version again.';

const PUBLISHED = 'where position is not null';

const indexes = [
  // Requests without a token name an id alone.
  'create index fleet_by_hash on fleet using hash (id)',
  'create index fleet_by_name on fleet (company, name collate "C", id)',
  'create index fleet_being_deleted on fleet (company, id) where deletion is not null',

  'create index vehicle_by_fleet on vehicle (company, fleet_id, id)',
  'create index vehicle_by_status on vehicle (company, fleet_id, status, manufacturer)',
  `create index vehicle_by_reason on vehicle (company, fleet_id, (reason ->> 'actor'), (reason ->> 'code'))
    where reason is not null`,
  'create index vehicle_by_vin on vehicle (company, fleet_id, vin)',
  `create index vehicle_by_verified on vehicle (company, coalesce(verified_at, 'infinity'::timestamptz), id)`,
  `create index vehicle_of_fleet_by_verified
    on vehicle (company, fleet_id, coalesce(verified_at, 'infinity'::timestamptz), id)`,
  'create index vehicle_due_by_company on vehicle (company, due_at) where due_at is not null',
  'create index vehicle_tally_by_fleet on vehicle_tally (company, fleet_id, status) include (delta)',

  'create index contract_by_hash on contract using hash (id)',
  'create index contract_by_fleet on contract (company, fleet_id, id)',
  'create index contract_by_vehicle on contract (company, vehicle_id, id)',
  'create index contract_by_start on contract (company, starts_at, id)',
  'create index contract_of_fleet_by_start on contract (company, fleet_id, starts_at, id)',
  'create index contract_by_end on contract (company, ends_at, id)',
  'create index contract_of_fleet_by_end on contract (company, fleet_id, ends_at, id)',
  'create index contract_due_by_company on contract (company, due_at) where due_at is not null',

  'create index import_by_fleet on import (company, fleet_id, id)',
  'create index import_due on import (due_at) where due_at is not null',
  'create index import_finished on import (finished_at) where finished_at is not null',
  'create index idempotency_key_age on idempotency_key (created_at)',

  'create unique index event_by_id on event (id)',
  'create index event_to_publish on event (company, seq) where position is null',
  `create unique index event_company_position_key on event (company, position) ${PUBLISHED}`,
  `create index event_type on event (company, type, position) ${PUBLISHED}`,
  `create index event_by_fleet on event (company, fleet_id, position) ${PUBLISHED} and fleet_id is not null`,
  `create index event_by_contract on event (company, contract_id, position) ${PUBLISHED} and contract_id is not null`,
  `create index event_vehicle on event using gin (vehicle_ids) ${PUBLISHED}`,
  `create index event_vin on event using gin (vins) ${PUBLISHED}`,

  scheduleByTime,

  'create index webhook_due on webhook (due_at) where due_at is not null',
  'create unique index delivery_by_id on delivery (id)',
  'create index delivery_by_webhook on delivery (company, webhook_id, id)',
  'create index delivery_due_by_webhook on delivery (company, webhook_id, due_at) where due_at is not null',
  'create index delivery_asked_by_webhook on delivery (company, webhook_id, due_at) where asked and due_at is not null',
];
