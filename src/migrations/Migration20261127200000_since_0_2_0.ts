import { Migration } from '@mikro-orm/migrations';

/** Contracts are carried out at manufacturers: their state there, and the programs that must be begun or ended. */
export class Migration20261127200000_since_0_2_0 extends Migration {
  override async up(): Promise<void> {
    for (const statement of statements) this.addSql(statement);
  }
}

const statements = [
  // A constant default changes no row: what is in force begins as OFF.
  `alter table contract
    add column activation text not null default 'OFF' constraint contract_activation_check
      check (activation in ('OFF', 'PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED', 'UNSUPPORTED')),
    add column activation_reason jsonb,
    add column activation_changed_at timestamptz,
    add column provider text,
    add column programs text[] not null default '{}'`,

  `create table activation (
    company text not null,
    id uuid not null,
    vin text collate "C" not null,
    provider text not null,
    program text not null,
    brand text not null,
    wanted boolean not null default true,
    asked boolean not null default false,
    renewed boolean not null default false,
    state text not null default 'PENDING' check (state in ('PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING')),
    reason jsonb,
    changed_at timestamptz not null,
    looks int not null default 0,
    faults int not null default 0,
    due_at timestamptz,
    claimed_by uuid,
    touched boolean not null default false,
    raw_answer jsonb,
    primary key (company, id),
    constraint activation_program unique (company, vin, provider, program)
  )`,
  'create index activation_due_by_company on activation (company, due_at) where due_at is not null',
  'create index activation_by_vin on activation (vin)',

  'alter table schedule drop constraint schedule_kind_check',
  `alter table schedule add constraint schedule_kind_check
    check (kind in ('vehicle', 'contract', 'delivery', 'activation')) not valid`,
  'alter table schedule validate constraint schedule_kind_check',
];
