import { Migration } from '@mikro-orm/migrations';

/** A large fleet is deleted in steps (docs/decisions/large-deletions.md). */
export class Migration20261122030010 extends Migration {
  override up(): void {
    this.addSql('alter table fleet add column deletion jsonb');
    this.addSql('create index fleet_being_deleted on fleet (company, id) where deletion is not null');
  }

  /** Fleets that are on their way out appear again, with the vehicles that are left. */
  override down(): void {
    this.addSql('alter table fleet drop column deletion');
  }
}
