import { Migration } from '@mikro-orm/migrations';

/** The codes of failures of imports. */
export class Migration20261128080000_since_0_2_0 extends Migration {
  override async up(): Promise<void> {
    this.addSql('alter table import add column failure_code text');
  }
}
