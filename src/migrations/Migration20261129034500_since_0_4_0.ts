import { Migration } from '@mikro-orm/migrations';

/** Large answers of a company are summed up and the oldest let go. */
export class Migration20261129034500_since_0_4_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists idempotency_key_large');
    this.addSql(
      'create index concurrently idempotency_key_large on idempotency_key (company, created_at) where octet_length(body) > 4096',
    );
  }
}
