import { Migration } from '@mikro-orm/migrations';

/** Finds the answers that the sandbox invented: mostly none. */
export class Migration20261127120001_since_0_2_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists vehicle_of_sandbox');
    this.addSql(`create index concurrently vehicle_of_sandbox on vehicle (company, id) where provider = 'sandbox'`);
    this.addSql('reset lock_timeout');
  }
}
