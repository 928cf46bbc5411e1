import { Migration } from '@mikro-orm/migrations';

/** Claims are found by their process, whatever their company. */
export class Migration20261127130000_since_0_2_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists vehicle_by_claim');
    this.addSql('create index concurrently vehicle_by_claim on vehicle (claimed_by) where claimed_by is not null');
    this.addSql('reset lock_timeout');
  }
}
