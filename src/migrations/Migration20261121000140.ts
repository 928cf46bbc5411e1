import { Migration } from '@mikro-orm/migrations';
import { countingFunctions } from './triggers.ts';

/** Foreign keys by their column: where they point to. They keep their names, which the version before knows. */
const foreign: Record<string, Record<string, string>> = {
  vehicle_tally: { fleet_id: 'fleet' },
  contract: { fleet_id: 'fleet', vehicle_id: 'vehicle' },
  import: { fleet_id: 'fleet' },
  import_batch: {},
  import_rejection: { import_id: 'import' },
  delivery: { webhook_id: 'webhook', event_id: 'event' },
  fleet: {},
  vehicle: {},
  event: {},
  webhook: {},
};
/** Primary keys of before, where they are not the id, of which there is another index. */
const keys: Record<string, string> = {
  vehicle_tally: 'id',
  import_batch: 'import_id, first_row',
  import_rejection: 'import_id, row',
};
const filled = ['vehicle_tally', 'import_batch', 'import_rejection', 'delivery'];
/** Lists have other indexes now; `fleet_list` and its like equal the primary keys. */
const replaced: Record<string, string> = {
  fleet_list: 'fleet (company, id)',
  vehicle_status: 'vehicle (fleet_id, status, id)',
  vehicle_manufacturer: 'vehicle (fleet_id, manufacturer, id)',
  vehicle_vin_prefix: 'vehicle (fleet_id, vin text_pattern_ops)',
  contract_list: 'contract (company, id)',
  import_fleet: 'import (fleet_id, id)',
  webhook_list: 'webhook (company, id)',
  delivery_list: 'delivery (webhook_id, id)',
};

/** The company becomes part of every key. All of it is a matter of the catalogue: no row is read. */
export class Migration20261121000140 extends Migration {
  override up(): void {
    // All locks before the first change: whoever cannot have them at once gives way, and tries again.
    this.addSql(`lock table ${Object.keys(foreign).join(', ')} in access exclusive mode`);
    for (const [table, columns] of Object.entries(foreign)) {
      for (const column of Object.keys(columns))
        this.addSql(`alter table ${table} drop constraint ${table}_${column}_fkey`);
    }
    for (const table of Object.keys(foreign)) {
      if (filled.includes(table)) {
        this.addSql(`alter table ${table} alter column company set not null, drop constraint ${table}_company`);
      }
      this.addSql(`alter table ${table} drop constraint ${table}_pkey,
        add constraint ${table}_pkey primary key using index ${table}_key`);
    }
    this.addSql(`alter table delivery drop constraint delivery_event,
      add constraint delivery_event unique using index delivery_event_key`);
    for (const [table, columns] of Object.entries(foreign)) {
      for (const [column, parent] of Object.entries(columns)) {
        this.addSql(`alter table ${table} add constraint ${table}_${column}_fkey foreign key (company, ${column})
          references ${parent} (company, id) on delete cascade not valid`);
      }
    }
    this.addSql(`drop index ${Object.keys(replaced).join(', ')}`);
    for (const statement of countingFunctions({ byCompany: true })) this.addSql(statement);
  }

  override down(): void {
    this.addSql(`lock table ${Object.keys(foreign).join(', ')} in access exclusive mode`);
    for (const [table, columns] of Object.entries(foreign)) {
      for (const column of Object.keys(columns))
        this.addSql(`alter table ${table} drop constraint ${table}_${column}_fkey`);
    }
    for (const table of Object.keys(foreign)) {
      const key = keys[table];
      this.addSql(`alter table ${table} drop constraint ${table}_pkey,
        add constraint ${table}_pkey primary key ${key ? `(${key})` : `using index ${table}_by_id`}`);
      this.addSql(`create unique index ${table}_key on ${table} (company, ${key ?? 'id'})`);
      if (filled.includes(table)) {
        this.addSql(`alter table ${table} alter column company drop not null,
          add constraint ${table}_company check (company is not null)`);
      }
    }
    this.addSql(`alter table delivery drop constraint delivery_event,
      add constraint delivery_event unique (event_id, webhook_id)`);
    this.addSql('create unique index delivery_event_key on delivery (company, event_id, webhook_id)');
    for (const [table, columns] of Object.entries(foreign)) {
      for (const [column, parent] of Object.entries(columns)) {
        this.addSql(`alter table ${table} add constraint ${table}_${column}_fkey foreign key (${column})
          references ${parent} (id) on delete cascade`);
      }
    }
    for (const table of Object.keys(foreign))
      if (!keys[table]) this.addSql(`create unique index ${table}_by_id on ${table} (id)`);
    for (const [name, on] of Object.entries(replaced)) this.addSql(`create index ${name} on ${on}`);
    for (const statement of countingFunctions({ byCompany: false })) this.addSql(statement);
  }
}
