import { Migration } from '@mikro-orm/migrations';

/** The index for contracts by their state at the manufacturer. */
export class Migration20261127200001_since_0_2_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists contract_by_activation');
    this.addSql('create index concurrently contract_by_activation on contract (company, activation, id)');
  }
}
