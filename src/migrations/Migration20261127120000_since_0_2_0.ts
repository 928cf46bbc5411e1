import { Migration } from '@mikro-orm/migrations';

/** Whose answer a vehicle has. */
export class Migration20261127120000_since_0_2_0 extends Migration {
  override up(): void {
    this.addSql('alter table vehicle add column provider text');
  }
}
