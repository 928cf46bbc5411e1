import { Migration } from '@mikro-orm/migrations';

/**
 * No transaction that writes notifies (docs/decisions/notifications.md): who records an event announces it. Events of
 * processes that still run the version before are found by the look every 20 seconds.
 */
export class Migration20261121000070 extends Migration {
  override up(): void {
    this.addSql('drop trigger event_due on event');
    this.addSql('drop function event_due()');
  }

  override down(): void {
    this.addSql(`
      create function event_due() returns trigger language plpgsql as $$
      begin
        if exists (select from added) then perform pg_notify('due', 'event'); end if;
        return null;
      end $$`);
    this.addSql(`create trigger event_due after insert on event referencing new table as added
      for each statement execute function event_due()`);
  }
}
