import { Migration } from '@mikro-orm/migrations';

/** New primary keys and other constraints, which the next migration takes over; they get its names there. */
const uniques: Record<string, string> = {
  fleet_key: 'fleet (company, id)',
  vehicle_key: 'vehicle (company, id)',
  vehicle_tally_key: 'vehicle_tally (company, id)',
  contract_key: 'contract (company, id)',
  import_key: 'import (company, id)',
  import_batch_key: 'import_batch (company, import_id, first_row)',
  import_rejection_key: 'import_rejection (company, import_id, "row")',
  event_key: 'event (company, id)',
  webhook_key: 'webhook (company, id)',
  delivery_key: 'delivery (company, id)',
  delivery_event_key: 'delivery (company, event_id, webhook_id)',
  // What looks rows up by their id alone goes on doing so.
  fleet_by_id: 'fleet (id)',
  vehicle_by_id: 'vehicle (id)',
  contract_by_id: 'contract (id)',
  import_by_id: 'import (id)',
  event_by_id: 'event (id)',
  webhook_by_id: 'webhook (id)',
  delivery_by_id: 'delivery (id)',
};
const lists: Record<string, string> = {
  vehicle_by_fleet: 'vehicle (company, fleet_id, id)',
  vehicle_by_status: 'vehicle (company, fleet_id, status, id)',
  vehicle_by_manufacturer: 'vehicle (company, fleet_id, manufacturer, id)',
  vehicle_by_vin_prefix: 'vehicle (company, fleet_id, vin text_pattern_ops)',
  vehicle_tally_by_fleet: 'vehicle_tally (company, fleet_id, status) include (delta)',
  contract_by_fleet: 'contract (company, fleet_id, id)',
  contract_by_vehicle: 'contract (company, vehicle_id, id)',
  import_by_fleet: 'import (company, fleet_id, id)',
  delivery_by_webhook: 'delivery (company, webhook_id, id)',
};

/** Indexes that begin with the company. They are built beside the work on the tables, which waits for none of them. */
export class Migration20261121000130 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    // Building one waits for the transactions that are open, however long they are.
    this.addSql('set lock_timeout = 0');
    // What was left by an attempt that was cut off is of no use.
    const names = [...Object.keys(uniques), ...Object.keys(lists)].map((name) => `'${name}'`).join(', ');
    this.addSql(`
      do $$ declare broken text; begin
        for broken in select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
          where not i.indisvalid and c.relname in (${names}) and c.relnamespace = 'public'::regnamespace
        loop execute format('drop index %I', broken); end loop;
      end $$`);
    for (const [name, on] of Object.entries(uniques)) this.create('unique index', name, on);
    for (const [name, on] of Object.entries(lists)) this.create('index', name, on);
    this.addSql('reset lock_timeout');
  }

  private create(kind: string, name: string, on: string): void {
    this.addSql(`create ${kind} concurrently if not exists ${name} on ${on}`);
  }

  override down(): void {
    for (const name of [...Object.keys(uniques), ...Object.keys(lists)]) this.addSql(`drop index if exists ${name}`);
  }
}
