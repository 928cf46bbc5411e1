import { Migration } from '@mikro-orm/migrations';

/** What the processes tell each other of the rate limit. */
export class Migration20261120000003 extends Migration {
  override up(): void {
    this.addSql(`
      create unlogged table rate_use (
        who text not null,
        minute timestamptz not null,
        points int not null,
        primary key (minute, who)
      ) with (fillfactor = 50)`);
  }

  override down(): void {
    this.addSql('drop table rate_use');
  }
}
