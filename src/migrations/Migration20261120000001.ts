import { Migration } from '@mikro-orm/migrations';

/** Events, webhooks and their deliveries; contracts say when their next event comes due. */
export class Migration20261120000001 extends Migration {
  override up(): void {
    // A UUIDv7, for rows that statements make: PostgreSQL has it since version 18 only.
    this.addSql(`
      create function new_uuid() returns uuid language sql volatile as $$
        select (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0')
          || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
      $$`);

    // No foreign keys: events outlive what they tell of. Why position is not a plain sequence: docs/decisions.
    this.addSql(`
      create table event (
        id uuid primary key default new_uuid(),
        seq bigint generated always as identity,
        position bigint,
        company text not null,
        type text not null,
        fleet_id uuid,
        contract_id uuid,
        vehicle_ids uuid[] not null default '{}',
        vins text[] not null default '{}',
        actor text not null,
        request_id text,
        at timestamptz not null,
        data jsonb not null default '{}'
      )`);
    this.addSql('create sequence event_position');
    this.addSql('create index event_unpublished on event (seq) where position is null');
    // Of published events only: whoever writes one pays for none of these.
    this.addSql('create unique index event_position_key on event (position) where position is not null');
    this.addSql('create index event_list on event (company, position) where position is not null');
    this.addSql('create index event_type on event (company, type, position) where position is not null');
    this.addSql(`
      create index event_fleet on event (fleet_id, position) where position is not null and fleet_id is not null`);
    this.addSql(`
      create index event_contract on event (contract_id, position)
        where position is not null and contract_id is not null`);
    this.addSql('create index event_vehicle on event using gin (vehicle_ids) where position is not null');
    this.addSql('create index event_vin on event using gin (vins) where position is not null');
    this.addSql(`
      create function event_due() returns trigger language plpgsql as $$
      begin
        -- Statements that record nothing are the rule: telling of them would wake the publisher for ever.
        if exists (select from added) then perform pg_notify('due', 'event'); end if;
        return null;
      end $$`);
    this.addSql(`create trigger event_due after insert on event referencing new table as added
      for each statement execute function event_due()`);

    this.addSql(`
      create table webhook (
        id uuid primary key,
        company text not null,
        url text not null,
        description text not null default '',
        types text[] not null default '{}',
        state text not null default 'ACTIVE' check (state in ('ACTIVE', 'PAUSED', 'DISABLED')),
        reason text,
        held_from bigint,
        secret text not null,
        old_secret text,
        old_secret_until timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null
      )`);
    this.addSql('create index webhook_list on webhook (company, id)');

    this.addSql(`
      create table delivery (
        id uuid primary key default new_uuid(),
        webhook_id uuid not null references webhook (id) on delete cascade,
        event_id uuid not null references event (id) on delete cascade,
        state text not null default 'PENDING' check (state in ('PENDING', 'SUCCEEDED', 'FAILED')),
        once boolean not null default false,
        attempts int not null default 0,
        due_at timestamptz,
        claimed boolean not null default false,
        url text,
        headers jsonb,
        status int,
        answer text,
        error text,
        duration_ms int,
        created_at timestamptz not null,
        attempted_at timestamptz,
        constraint delivery_event unique (event_id, webhook_id)
      )`);
    this.addSql('create index delivery_list on delivery (webhook_id, id)');
    this.addSql('create index delivery_due on delivery (webhook_id, due_at) where due_at is not null');

    this.addSql('alter table contract add column due_at timestamptz');
    // What began or ended before there were events is no news.
    this.addSql(`
      update contract set due_at = case when starts_at > now() then starts_at when ends_at > now() then ends_at end`);
    this.addSql('create index contract_due on contract (due_at) where due_at is not null');
  }

  override down(): void {
    this.addSql('alter table contract drop column due_at');
    this.addSql('drop table delivery, webhook, event');
    this.addSql('drop sequence event_position');
    this.addSql('drop function event_due()');
    this.addSql('drop function new_uuid()');
  }
}
