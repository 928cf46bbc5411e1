import { Migration } from '@mikro-orm/migrations';

/** Webhooks are halted and resumed by their own row, however many deliveries wait for them. */
export class Migration20261121000040 extends Migration {
  override up(): void {
    this.addSql(`alter table webhook add column failing boolean not null default false, add column due_at timestamptz`);
    this.addSql('create index webhook_due on webhook (due_at) where due_at is not null');
    this.addSql('alter table delivery add column asked boolean not null default false');
    this.addSql('create index delivery_asked on delivery (webhook_id, due_at) where asked and due_at is not null');
    // Deliveries of halted webhooks had no time; now it is their webhook's state that holds them back.
    this.addSql(`update delivery set asked = once, due_at = coalesce(due_at, created_at) where state = 'PENDING'`);
  }

  override down(): void {
    this.addSql(`
      update delivery d set due_at = null from webhook w
      where w.id = d.webhook_id and w.state <> 'ACTIVE' and d.state = 'PENDING' and not d.claimed and not d.asked`);
    this.addSql('alter table delivery drop column asked');
    this.addSql('alter table webhook drop column failing, drop column due_at');
  }
}
