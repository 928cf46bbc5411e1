import { Migration } from '@mikro-orm/migrations';

/** Work on vehicles is shared out by company, and who can be asked about none of them is told why from the start. */
export class Migration20261121000030 extends Migration {
  override up(): void {
    // Large databases make the index beforehand, concurrently (docs/operations.md).
    this.addSql(
      'create index if not exists vehicle_due_by_company on vehicle (company, due_at) where due_at is not null',
    );
    this.addSql('drop index vehicle_due');
    this.addSql(`
      update vehicle set reason = jsonb_build_object('retryable', false) || case when manufacturer is null
        then '{"code": "MANUFACTURER_UNKNOWN", "message": "The manufacturer cannot be told from this VIN.", "actor": "CUSTOMER"}'::jsonb
        else '{"code": "MANUFACTURER_NOT_SUPPORTED", "message": "No configured provider answers for this manufacturer.", "actor": "OPERATOR"}'::jsonb
        end
      where status = 'UNSUPPORTED' and reason is null`);
  }

  override down(): void {
    this.addSql('create index vehicle_due on vehicle (due_at) where due_at is not null');
    this.addSql('drop index vehicle_due_by_company');
  }
}
