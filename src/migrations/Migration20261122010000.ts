import { Migration } from '@mikro-orm/migrations';

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
    this.replace(sorted, replaced);
  }

  override down(): void {
    this.replace(replaced, sorted);
  }

  private replace(made: Record<string, string>, removed: Record<string, string>): void {
    // Building one waits for the transactions that are open, however long they are.
    this.addSql('set lock_timeout = 0');
    // What was left by an attempt that was cut off is of no use.
    const names = Object.keys(made).map((name) => `'${name}'`);
    this.addSql(`
      do $$ declare broken text; begin
        for broken in select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
          where not i.indisvalid and c.relname in (${names.join(', ')}) and c.relnamespace = 'public'::regnamespace
        loop execute format('drop index %I', broken); end loop;
      end $$`);
    for (const [name, on] of Object.entries(made))
      this.addSql(`create index concurrently if not exists ${name} on ${on}`);
    for (const name of Object.keys(removed)) this.addSql(`drop index concurrently if exists ${name}`);
    this.addSql('reset lock_timeout');
  }
}
