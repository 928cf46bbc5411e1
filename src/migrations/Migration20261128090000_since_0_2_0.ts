import { Migration } from '@mikro-orm/migrations';

/** Claims on programs are found by their process, whatever their company. */
export class Migration20261128090000_since_0_2_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists activation_by_claim');
    this.addSql(
      'create index concurrently activation_by_claim on activation (claimed_by) where claimed_by is not null',
    );
  }
}
