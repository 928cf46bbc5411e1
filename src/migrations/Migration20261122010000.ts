import { Migration } from '@mikro-orm/migrations';
import { replaceIndexes } from './indexes.ts';

const verified = `coalesce(verified_at, 'infinity'::timestamptz)`;

/** What lists are sorted by, for a company and for a fleet. */
const sorted: Record<string, string> = {
  vehicle_by_vin: 'vehicle (company, fleet_id, vin)',
  vehicle_by_verified: `vehicle (company, ${verified}, id)`,
  vehicle_of_fleet_by_verified: `vehicle (company, fleet_id, ${verified}, id)`,
  fleet_by_name: 'fleet (company, name collate "C", id)',
  contract_by_start: 'contract (company, starts_at, id)',
  contract_of_fleet_by_start: 'contract (company, fleet_id, starts_at, id)',
  contract_by_end: 'contract (company, ends_at, id)',
  contract_of_fleet_by_end: 'contract (company, fleet_id, ends_at, id)',
};
/** They served prefixes alone; in the order of code points the new ones of their columns serve both. */
const replaced: Record<string, string> = {
  vehicle_by_vin_prefix: 'vehicle (company, fleet_id, vin text_pattern_ops)',
  fleet_name: 'fleet (company, name text_pattern_ops)',
};

/** Indexes for the orders of lists. They are built beside the work on the tables, which waits for none of them. */
export class Migration20261122010000 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    for (const statement of replaceIndexes(sorted, Object.keys(replaced))) this.addSql(statement);
  }

  override down(): void {
    for (const statement of replaceIndexes(replaced, Object.keys(sorted))) this.addSql(statement);
  }
}
