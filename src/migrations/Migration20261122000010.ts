import { Migration } from '@mikro-orm/migrations';
import { allTriggers } from './triggers.ts';

/**
 * Statements count vehicles, delete them with their fleet, and make companies' rows, where triggers did. Processes of the
 * version before still need the triggers. Where there was nothing yet, they go at once, otherwise by
 * `npm run migrate -- finish`: until then they count, and the statements leave it to them.
 */
export class Migration20261122000010 extends Migration {
  override up(): void {
    // Functions that triggers run are all that there are of this kind.
    this.addSql(`
      create procedure drop_triggers() language plpgsql as $$
      declare one regprocedure; begin
        lock table fleet, vehicle, vehicle_tally, import_batch, import_rejection, webhook, delivery in access exclusive mode;
        for one in select oid from pg_proc where pronamespace = 'public'::regnamespace and prorettype = 'trigger'::regtype
          and proname in ('vehicle_tally_insert', 'vehicle_tally_update', 'vehicle_tally_delete', 'fleet_vehicles_delete',
            'company_insert', 'company_of_fleet', 'company_of_import', 'company_of_webhook')
        loop execute format('drop function %s cascade', one); end loop;
        drop procedure drop_triggers();
      end $$`);
    this.addSql(`
      do $$ begin
        if not exists (select from company) then call drop_triggers(); end if;
      end $$`);
  }
  /** Triggers again, unless they are still there. */
  override async down(): Promise<void> {
    const [found] = await this.execute(`select to_regproc('vehicle_tally_insert') is null as gone`);
    this.addSql('drop procedure if exists drop_triggers()');
    if (found?.gone) for (const statement of allTriggers) this.addSql(statement);
  }
}
