import { Migration } from '@mikro-orm/migrations';

/** Which warnings a row of an upload has, in place of whether it has one. `warned` goes when nobody writes it any more. */
export class Migration20261121000060 extends Migration {
  override up(): void {
    this.addSql('alter table import_batch alter column warned drop not null, add column warnings text[]');
    this.addSql('alter table import_batch alter column warnings set storage external');
  }

  override down(): void {
    this.addSql('alter table import_batch drop column warnings, alter column warned set not null');
  }
}
