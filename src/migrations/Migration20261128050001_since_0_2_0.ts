import { Migration } from '@mikro-orm/migrations';

/** The index for programs that the sandbox carried out, which another provider replaces. */
export class Migration20261128050001_since_0_2_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    this.addSql('set lock_timeout = 0');
    this.addSql('drop index concurrently if exists activation_of_sandbox');
    this.addSql(
      `create index concurrently activation_of_sandbox on activation (company, vin) where provider = 'sandbox'`,
    );
  }
}
