import { Migration } from '@mikro-orm/migrations';

/** The row that a row without a company belongs to. */
const parents = { vehicle_tally: 'fleet', import_batch: 'import', import_rejection: 'import', delivery: 'webhook' };

/**
 * A company for the tables that had none. Processes of the version before do not name it: triggers fill it on whatever
 * they insert or change. Rows of before are filled by the next migration.
 */
export class Migration20261121000110 extends Migration {
  override up(): void {
    for (const parent of new Set(Object.values(parents))) {
      // Without a parent, the empty company breaks the foreign key, as the row would have before.
      this.addSql(`
        create function company_of_${parent}() returns trigger language plpgsql as $$
        begin
          new.company := coalesce((select p.company from ${parent} p where p.id = new.${parent}_id), '');
          return new;
        end $$`);
    }
    for (const [table, parent] of Object.entries(parents)) {
      this.addSql(`alter table ${table} add column company text,
        add constraint ${table}_company check (company is not null) not valid`);
      this.addSql(`create trigger company_of_${parent} before insert or update on ${table}
        for each row when (new.company is null) execute function company_of_${parent}()`);
    }
  }

  override down(): void {
    for (const [table, parent] of Object.entries(parents)) {
      this.addSql(`drop trigger company_of_${parent} on ${table}`);
      this.addSql(`alter table ${table} drop column company`);
    }
    for (const parent of new Set(Object.values(parents))) this.addSql(`drop function company_of_${parent}()`);
  }
}
