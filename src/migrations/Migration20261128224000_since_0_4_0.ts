import { Migration } from '@mikro-orm/migrations';

/** What unfinished uploads hold in `import_batch` is bounded. */
export class Migration20261128224000_since_0_4_0 extends Migration {
  override up(): void {
    this.addSql('alter table import add column staged_bytes bigint not null default 0');
  }
}
