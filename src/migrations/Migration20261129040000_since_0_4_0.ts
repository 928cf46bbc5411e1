import { Migration } from '@mikro-orm/migrations';

/**
 * Filters find a company's vehicles at once, in place of once for each of its fleets. The indexes of the version before, which
 * may still run, stay until theirs are complete. Begun again, this builds them again.
 */
export class Migration20261129040000_since_0_4_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql('set lock_timeout = 0');
    for (const [name, columns] of indexes) {
      this.addSql(`drop index concurrently if exists ${name}_new`);
      this.addSql(`create index concurrently ${name}_new on vehicle ${columns}`);
      this.addSql(`drop index concurrently if exists ${name}`);
      this.addSql(`alter index ${name}_new rename to ${name}`);
    }
  }
}

const indexes = [
  ['vehicle_by_status', '(company, status, fleet_id, manufacturer)'],
  ['vehicle_by_reason', `(company, (reason ->> 'actor'), (reason ->> 'code'), fleet_id) where reason is not null`],
  ['vehicle_by_vin_end', '(company, reverse(vin))'],
] as const;
