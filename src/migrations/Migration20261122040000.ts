import { Migration } from '@mikro-orm/migrations';

/**
 * A company may have most of all events. Where PostgreSQL plans for any company, it would take one for a small part, and read
 * all of its events to find the few of a vehicle. What is set here holds from the next `analyze`.
 */
export class Migration20261122040000 extends Migration {
  override up(): void {
    this.addSql('alter table event alter column company set (n_distinct = 2)');
  }

  override down(): void {
    this.addSql('alter table event alter column company reset (n_distinct)');
  }
}
