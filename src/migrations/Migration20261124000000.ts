import { Migration } from '@mikro-orm/migrations';

/** What things are looked for by, the sheet that an import has read, and what happened as people see it. */
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

  `create table history (
    company text not null,
    id uuid not null default new_uuid(),
    key uuid not null,
    position bigint not null,
    type text not null,
    fleet_id uuid,
    import_id uuid,
    actor text not null,
    request_id text,
    first_at timestamptz not null,
    last_at timestamptz not null,
    events int not null,
    vehicles int not null,
    pending int not null,
    eligible int not null,
    ineligible int not null,
    unsupported int not null,
    failed int not null,
    primary key (company, id),
    constraint history_key unique (company, key),
    constraint history_position unique (company, position)
  )`,
  'create index history_by_fleet on history (company, fleet_id, position)',
  'alter table event add column history_id uuid',
  `create index event_by_history on event (company, history_id, position)
    where position is not null and history_id is not null`,
  `create table activity (
    company text not null,
    hour timestamptz not null,
    fleet_id uuid not null,
    type text not null,
    events int not null,
    vehicles int not null,
    primary key (company, hour, fleet_id, type)
  )`,
];
