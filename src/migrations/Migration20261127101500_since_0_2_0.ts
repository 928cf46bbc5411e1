import { Migration } from '@mikro-orm/migrations';

/** What an imported file is called, and its column that was read. */
export class Migration20261127101500_since_0_2_0 extends Migration {
  override up(): void {
    this.addSql('alter table import add column file_name text, add column vin_column text');
  }
}
