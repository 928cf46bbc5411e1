import { Migration } from '@mikro-orm/migrations';

/** Contracts of any company that need a program are found by the VIN: programs belong to the gateway's account. */
export class Migration20261128193001_since_0_4_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists vehicle_by_vin_hash');
    this.addSql('create index concurrently vehicle_by_vin_hash on vehicle using hash (vin)');
  }
}
