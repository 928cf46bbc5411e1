import { Migration } from '@mikro-orm/migrations';

/** Reads once what the foreign keys with the company have not looked at. Nobody waits for it. */
export class Migration20261121000150 extends Migration {
  override up(): void {
    for (const [table, column] of [
      ['vehicle_tally', 'fleet_id'],
      ['contract', 'fleet_id'],
      ['contract', 'vehicle_id'],
      ['import', 'fleet_id'],
      ['import_rejection', 'import_id'],
      ['delivery', 'webhook_id'],
      ['delivery', 'event_id'],
    ]) {
      this.addSql(`alter table ${table} validate constraint ${table}_${column}_fkey`);
    }
  }

  override down(): void {}
}
