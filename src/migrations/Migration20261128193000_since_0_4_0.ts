import { Migration } from '@mikro-orm/migrations';

/** Ended programs stay for looks; contracts remember that they were active, also when they are deleted. */
export class Migration20261128193000_since_0_4_0 extends Migration {
  override async up(): Promise<void> {
    for (const statement of statements) this.addSql(statement);
  }
}

const statements = [
  `alter table activation add column looked_at timestamptz, add column ended_at timestamptz`,
  'alter table activation drop constraint activation_state_check',
  `alter table activation add constraint activation_state_check
    check (state in ('PENDING', 'ACTIVE', 'REJECTED', 'FAILED', 'ENDING', 'ENDED')) not valid`,
  'alter table activation validate constraint activation_state_check',

  'alter table contract add column was_active boolean not null default false',

  `create table deleted_contract (
    company text not null,
    id uuid not null,
    fleet_id uuid not null,
    vehicle_id uuid not null,
    vin text collate "C" not null,
    provider text not null,
    programs text[] not null,
    data jsonb not null,
    primary key (company, id)
  )`,
  'create index deleted_contract_by_vin on deleted_contract (company, vin)',
];
