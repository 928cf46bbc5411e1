import { Migration } from '@mikro-orm/migrations';

/**
 * Vehicles are held to their fleet by their tally, with one look at the fleet per statement instead of one per vehicle
 * (docs/decisions/bulk-import.md). A new vehicle's tally has the foreign key; a fleet takes its vehicles along by a trigger.
 */
export class Migration20261120000002 extends Migration {
  override up(): void {
    this.addSql('alter table vehicle drop constraint vehicle_fleet_id_fkey');
    this.addSql(`
      create function fleet_vehicles_delete() returns trigger language plpgsql as $$
      begin
        delete from vehicle where fleet_id = old.id;
        return null;
      end $$`);
    this.addSql(`create trigger fleet_vehicles_delete after delete on fleet
      for each row execute function fleet_vehicles_delete()`);
    this.guardTallies('');
  }

  override down(): void {
    this.guardTallies('where exists (select from fleet where fleet.id = changes.fleet_id)');
    this.addSql('drop trigger fleet_vehicles_delete on fleet');
    this.addSql('drop function fleet_vehicles_delete()');
    this.addSql(`alter table vehicle add constraint vehicle_fleet_id_fkey
      foreign key (fleet_id) references fleet (id) on delete cascade`);
  }

  /** Without a guard, a fleet that does not exist breaks the tally's foreign key, and with it the statement. */
  private guardTallies(guard: string): void {
    const plus = 'select fleet_id, status, 1 as delta from added';
    const minus = 'select fleet_id, status, -1 as delta from removed';
    for (const [event, changes] of Object.entries({ insert: plus, update: `${plus} union all ${minus}` })) {
      this.addSql(`
        create or replace function vehicle_tally_${event}() returns trigger language plpgsql as $$
        begin
          insert into vehicle_tally (fleet_id, status, delta)
          select changes.fleet_id, changes.status, sum(changes.delta)::int
          from (${changes}) changes ${guard}
          group by changes.fleet_id, changes.status having sum(changes.delta) <> 0;
          return null;
        end $$`);
    }
  }
}
