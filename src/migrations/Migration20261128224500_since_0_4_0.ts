import { Migration } from '@mikro-orm/migrations';

/** Fleets keep sums of their tallies, by which they are sorted; upkeep of this version fills them in. */
export class Migration20261128224500_since_0_4_0 extends Migration {
  override up(): void {
    this.addSql(`alter table fleet add column vehicle_count int not null default 0,
      add column attention_count int not null default 0`);
    this.addSql('alter table vehicle_tally add column counted boolean not null default false');
  }
}
