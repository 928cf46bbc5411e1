import { Migration } from '@mikro-orm/migrations';

/** A row for each company: what counts for it alone is counted there, and what only one may do for it locks it. */
export class Migration20261121000100 extends Migration {
  override up(): void {
    this.addSql(`create table company (
      company text primary key check (company <> ''),
      position bigint not null default 0
    )`);
    // All that a company has begins with a fleet or a webhook.
    this.addSql(`
      create function company_insert() returns trigger language plpgsql as $$
      begin
        insert into company (company) values (new.company) on conflict do nothing;
        return null;
      end $$`);
    for (const table of ['fleet', 'webhook']) {
      this.addSql(`create trigger company_insert after insert on ${table}
        for each row execute function company_insert()`);
    }
    // Events outlive fleets. Published ones can be many: the index leads from company to company.
    this.addSql(`
      insert into company (company)
      with recursive logged as (
        select (select min(company) from event where position is not null) as company
        union all
        select (select min(e.company) from event e where e.position is not null and e.company > logged.company)
        from logged where logged.company is not null
      )
      select company from logged where company is not null
      union select company from event where position is null
      union select company from fleet
      union select company from webhook`);
  }

  override down(): void {
    for (const table of ['fleet', 'webhook']) this.addSql(`drop trigger company_insert on ${table}`);
    this.addSql('drop function company_insert()');
    this.addSql('drop table company');
  }
}
