import { Migration } from '@mikro-orm/migrations';

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
const filled = ['vehicle_tally', 'import_batch', 'import_rejection', 'delivery'];
/** Lists have other indexes now; `fleet_list` and its like equal the primary keys. */
const replaced = [
  'fleet_list',
  'vehicle_status',
  'vehicle_manufacturer',
  'vehicle_vin_prefix',
  'contract_list',
  'import_fleet',
  'webhook_list',
  'delivery_list',
];

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
    this.addSql(`drop index ${replaced.join(', ')}`);
    this.countByCompany();
  }

  /** Tallies, and what takes a fleet's vehicles along, name the company. */
  private countByCompany(): void {
    const plus = 'select company, fleet_id, status, 1 as delta from added';
    const minus = 'select company, fleet_id, status, -1 as delta from removed';
    // The fleet itself may be on its way out, and its vehicles with it.
    const guard = 'where exists (select from fleet f where f.company = changes.company and f.id = changes.fleet_id)';
    for (const [event, changes] of Object.entries({
      insert: `(${plus}) changes`,
      delete: `(${minus}) changes ${guard}`,
      update: `(${plus} union all ${minus}) changes`,
    })) {
      this.addSql(`
        create or replace function vehicle_tally_${event}() returns trigger language plpgsql as $$
        begin
          insert into vehicle_tally (company, fleet_id, status, delta)
          select changes.company, changes.fleet_id, changes.status, sum(changes.delta)::int
          from ${changes}
          group by changes.company, changes.fleet_id, changes.status having sum(changes.delta) <> 0;
          return null;
        end $$`);
    }
    this.addSql(`
      create or replace function fleet_vehicles_delete() returns trigger language plpgsql as $$
      begin
        delete from vehicle where company = old.company and fleet_id = old.id;
        return null;
      end $$`);
  }
}
