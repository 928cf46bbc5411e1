import { Migration } from '@mikro-orm/migrations';

/** Companies are in several installations: where those are that are not here, and what has ended for one that leaves. */
export class Migration20261128190000_since_0_4_0 extends Migration {
  override async up(): Promise<void> {
    this.addSql(`create table placement (
      company text not null primary key,
      state text not null check (state in ('HERE', 'COPYING', 'DRAINING', 'HELD', 'LEFT', 'ARRIVING', 'ARRIVED', 'ELSEWHERE')),
      installation text not null,
      fence uuid,
      changed_at timestamptz not null default clock_timestamp()
    )`);
    this.addSql('create index placement_changed on placement (changed_at)');
    this.addSql(`create table process (
      id uuid not null primary key,
      alive_until timestamptz not null,
      fences uuid[] not null default '{}',
      accounts text[] not null default '{}'
    )`);
  }
}
