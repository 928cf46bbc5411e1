import { Migration } from '@mikro-orm/migrations';

/**
 * Contracts come due by company. Indexes that only statements of the version before use go at once where there is nothing yet,
 * otherwise by `npm run migrate -- finish`.
 */
export class Migration20261122030000 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    // Building one waits for the transactions that are open, however long they are.
    this.addSql('set lock_timeout = 0');
    // What was left by an attempt that was cut off is of no use.
    this.addSql('drop index concurrently if exists contract_due_by_company');
    this.addSql(`create index concurrently contract_due_by_company on contract (company, due_at)
      where due_at is not null`);
    this.addSql('reset lock_timeout');
    this.addSql(`
      do $$ begin
        if not exists (select from company) then
          drop index contract_due, contract_fleet, contract_vehicle, vehicle_by_id, vehicle_list, vehicle_tally_fleet,
            import_by_id, webhook_by_id;
        end if;
      end $$`);
  }

  override down(): void {
    for (const index of [
      'index if not exists contract_due on contract (due_at) where due_at is not null',
      'index if not exists contract_fleet on contract (fleet_id, id)',
      'index if not exists contract_vehicle on contract (vehicle_id, id)',
      'unique index if not exists vehicle_by_id on vehicle (id)',
      'index if not exists vehicle_list on vehicle (fleet_id, id)',
      'index if not exists vehicle_tally_fleet on vehicle_tally (fleet_id, status) include (delta)',
      'unique index if not exists import_by_id on import (id)',
      'unique index if not exists webhook_by_id on webhook (id)',
    ])
      this.addSql(`create ${index}`);
    this.addSql('drop index contract_due_by_company');
  }
}
