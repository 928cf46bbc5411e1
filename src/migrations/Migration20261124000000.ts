import { Migration } from '@mikro-orm/migrations';

/** What fleets, vehicles and contracts are looked for by, and the sheet that an import has read. */
export class Migration20261124000000 extends Migration {
  override up(): void {
    for (const statement of statements) this.addSql(statement);
  }
}

const statements = [
  // Names are compared without case and accents: those of any script where the server knows Unicode's rules.
  `do $$ begin
    execute format($f$create function folded(name text) returns text language sql immutable strict parallel safe as
      $b$ select lower(regexp_replace(normalize(name, nfkd), '[\\u0300-\\u036f]', '', 'g')%s) $b$ $f$,
      case when exists (select from pg_collation where collname = 'und-x-icu') then ' collate "und-x-icu"' else '' end);
  end $$`,
  'create index vehicle_by_vin_end on vehicle (company, fleet_id, reverse(vin))',
  'alter table contract add column folded_name text collate "C" generated always as (folded(name)) stored',
  'create index contract_by_name on contract (company, folded_name, id)',
  'alter table import add column sheet text',
];
