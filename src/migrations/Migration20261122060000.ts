import { Migration } from '@mikro-orm/migrations';
import { replaceIndexes } from './indexes.ts';

/** Does it for the columns of which one value may have most of a table's rows. In the table of companies each is one row. */
const eachColumn = (option: (column: string) => string, after = '') => `
  do $$ declare one record; begin
    -- Citus would reject to change a column of a table that is distributed; its parts have statistics of their own.
    perform set_config('citus.enable_ddl_propagation', 'off', true);
    for one in
      select c.relname as "table", a.attname as "column", c.reltuples as rows from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and (a.attname = 'company' and c.relname <> 'company'
        or a.attname = 'fleet_id' and c.relname in ('vehicle', 'contract', 'event'))
    loop
      execute format('alter table %I alter column %I ', one."table", one."column") || ${option('one."column"')};
      ${after}
    end loop;
  end $$`;

/** Not of empty tables: known to be empty, they would be read as a whole by plans that are kept while they fill. */
const ANALYZE = `if one.rows > 0 then execute format('analyze %I (%I)', one."table", one."column"); end if;`;

/** An id alone is looked up by its hash, so that nobody goes through all companies' ids, in their order, for those of one. */
const hashes = { fleet_by_hash: 'fleet using hash (id)', contract_by_hash: 'contract using hash (id)' };
const ordered = { fleet_by_id: 'fleet (id)', contract_by_id: 'contract (id)' };

/**
 * One company, or fleet, may have most of a table's rows. Where PostgreSQL plans for any of them, it divides the rows by their number:
 * of many small ones, each seems to have next to no rows, for which every index is as good as any other, and sorting them costs
 * nothing. Companies are taken for fifty, so that only the index that fits is worth taking, and a table that all share is not read
 * for one; a fleet is taken for half of its company. It holds from the next `analyze`.
 */
export class Migration20261122060000 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    for (const statement of replaceIndexes(hashes, Object.keys(ordered))) this.addSql(statement);
    this.addSql(
      eachColumn(
        (column) => `format('set (n_distinct = %s)', case ${column} when 'company' then 50 else 2 end)`,
        ANALYZE,
      ),
    );
  }

  override down(): void {
    for (const statement of replaceIndexes(ordered, Object.keys(hashes), 'unique index')) this.addSql(statement);
    this.addSql(eachColumn(() => `'reset (n_distinct)'`));
    this.addSql('alter table event alter column company set (n_distinct = 2)');
  }
}
