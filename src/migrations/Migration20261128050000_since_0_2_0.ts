import { Migration } from '@mikro-orm/migrations';

/** The history groups what manufacturers say about contracts by maker. */
export class Migration20261128050000_since_0_2_0 extends Migration {
  override async up(): Promise<void> {
    this.addSql('alter table history add column manufacturer text');
  }
}
