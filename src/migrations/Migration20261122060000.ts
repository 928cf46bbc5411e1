import { Migration } from '@mikro-orm/migrations';

/** The tables of what companies have, as `one`; on a Citus cluster also on its nodes, where `%s` is a part of the table. */
const eachTable = (work: string, onParts: string) => `
  do $$ declare one regclass; begin
    -- Citus would reject to change a column of a table that is distributed.
    perform set_config('citus.enable_ddl_propagation', 'off', true);
    for one in
      select a.attrelid from pg_attribute a join pg_class c on c.oid = a.attrelid
      where a.attname = 'company' and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'company'
    loop
      ${work}
      if to_regclass('pg_dist_partition') is not null then
        perform run_command_on_shards(one::text, $part$${onParts}$part$)
        where exists (select from pg_dist_partition where logicalrelid = one);
      end if;
    end loop;
  end $$`;

/** Before PostgreSQL 18 only a superuser can take them away. */
const deletion = (table: string) => `delete from pg_statistic s using pg_attribute a
  where s.starelid = ${table} and a.attrelid = s.starelid and a.attnum = s.staattnum and a.attname = 'company'`;
const forget = `
  begin
    if current_setting('server_version_num')::int >= 180000 then
      perform pg_clear_attribute_stats('public', one::text, 'company', false);
    else
      ${deletion('one')};
    end if;
  exception when insufficient_privilege then null;
  end;`;

const alter = (table: string, target: 0 | -1) => `alter table ${table} alter column company set statistics ${target}`;
/** What stays known would stay as it is for ever. */
const collectNothing = `
  if exists (select from pg_stats
    where format('%I.%I', schemaname, tablename)::regclass = one and attname = 'company') then
    raise warning 'The statistics of % stay: only a superuser can delete them (docs/operations.md).', one;
  else
    execute format('${alter('%s', 0)}', one);
  end if;`;

/**
 * The planner's statistics know some companies and have never heard of others. One of the latter looks like one of no rows, for
 * which every index that begins with the company is as good as any other: of 20,000 vehicles all were read for each VIN. Without
 * statistics of this column each company is taken for a 200th of the table, and the index that fits best is the one that is used.
 */
export class Migration20261122060000 extends Migration {
  override up(): void {
    this.addSql('alter table event alter column company reset (n_distinct)');
    this.addSql(eachTable(forget, deletion(`'%s'::regclass`)));
    this.addSql(eachTable(collectNothing, alter('%s', 0)));
  }

  override down(): void {
    this.addSql(eachTable(`execute format('${alter('%s', -1)}', one);`, alter('%s', -1)));
    this.addSql('alter table event alter column company set (n_distinct = 2)');
  }
}
