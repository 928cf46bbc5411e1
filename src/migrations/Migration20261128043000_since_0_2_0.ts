import { Migration } from '@mikro-orm/migrations';

/** The index for programs that wait at manufacturers. */
export class Migration20261128043000_since_0_2_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists activation_waiting');
    this.addSql(
      `create index concurrently activation_waiting on activation (changed_at)
       where state in ('PENDING', 'ENDING') or not wanted`,
    );
  }
}
