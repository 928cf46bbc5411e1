import { Migration } from '@mikro-orm/migrations';

/**
 * Remembered answers say which scopes they took, and hold no secrets; imports are found by their age.
 * Answers of before, and of processes that still run the version before, ask for every scope.
 */
export class Migration20261121000050 extends Migration {
  override up(): void {
    this.addSql(`
      alter table idempotency_key add column secret_of uuid,
        add column scopes text[] not null
          default '{fleets:read,fleets:write,contracts:read,contracts:write}'`);
    // Which webhook a secret belongs to is not known: whoever repeats its creation creates another one.
    this.addSql(`delete from idempotency_key where body like '%whsec\\_%'`);
    this.addSql('create index import_finished on import (finished_at) where finished_at is not null');
  }

  override down(): void {
    this.addSql('drop index import_finished');
    this.addSql('alter table idempotency_key drop column scopes, drop column secret_of');
  }
}
