import { Migration } from '@mikro-orm/migrations';

/** Fleets are sorted by their sums, and those that upkeep has not summed up are found. */
export class Migration20261128224501_since_0_4_0 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql('set lock_timeout = 0');
    for (const [name, columns] of indexes) {
      this.addSql(`drop index concurrently if exists ${name}`);
      this.addSql(`create index concurrently ${name} on ${columns}`);
    }
  }
}

const indexes = [
  ['fleet_by_vehicle_count', 'fleet (company, vehicle_count, id)'],
  ['fleet_by_attention_count', 'fleet (company, attention_count, id)'],
  ['vehicle_tally_uncounted', 'vehicle_tally (company, fleet_id) where not counted'],
] as const;
