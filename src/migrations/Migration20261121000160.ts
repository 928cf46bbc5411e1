import { Migration } from '@mikro-orm/migrations';

/**
 * Events have a position per company (docs/decisions/events.md). Processes of the version before draw theirs from one
 * sequence for all; as long as it is there, everybody does. Where nothing was ever published, it goes at once, otherwise by
 * `npm run migrate -- finish`.
 */
export class Migration20261121000160 extends Migration {
  override up(): void {
    this.addSql(`create unique index if not exists event_company_position_key on event (company, position)
      where position is not null`);
    this.addSql('drop index event_list');
    this.addSql('create index if not exists event_to_publish on event (company, seq) where position is null');
    this.addSql('drop index event_unpublished');
    this.addSql(`
      update company c set position = last.position
      from (select c.company, (select max(position) from event e where e.company = c.company and position is not null)
            from company c) last(company, position)
      where c.company = last.company and last.position is not null`);
    this.addSql(`
      do $$ begin
        if not exists (select from event where position is not null) then
          drop sequence event_position;
          drop index event_position_key;
        end if;
      end $$`);
  }

  /** Positions in one order over all companies again, which keeps that of each. */
  override down(): void {
    this.addSql('drop index if exists event_position_key');
    this.addSql('drop index event_company_position_key');
    this.addSql(`create temporary table renumbered on commit drop as
      select id, company, position, row_number() over (order by position, company) as new from event
      where position is not null`);
    this.addSql(`update webhook w set held_from = coalesce(
        (select max(new) from renumbered r where r.company = w.company and r.position <= w.held_from), 0)
      where held_from is not null`);
    this.addSql('update event e set position = r.new from renumbered r where r.id = e.id');
    this.addSql('create sequence if not exists event_position');
    this.addSql(`select setval('event_position', (select coalesce(max(new), 0) + 1 from renumbered), false)`);
    this.addSql('create unique index event_position_key on event (position) where position is not null');
    this.addSql('create index event_list on event (company, position) where position is not null');
    this.addSql('create index event_unpublished on event (seq) where position is null');
    this.addSql('drop index event_to_publish');
  }
}
