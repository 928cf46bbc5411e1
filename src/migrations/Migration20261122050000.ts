import { Migration } from '@mikro-orm/migrations';
import { replaceIndexes } from './indexes.ts';

const ofPublished = (column: string) => `where position is not null and ${column} is not null`;

/** What a fleet's or contract's events, and a webhook's deliveries, are found by. */
const made: Record<string, string> = {
  event_by_fleet: `event (company, fleet_id, position) ${ofPublished('fleet_id')}`,
  event_by_contract: `event (company, contract_id, position) ${ofPublished('contract_id')}`,
  delivery_due_by_webhook: 'delivery (company, webhook_id, due_at) where due_at is not null',
  delivery_asked_by_webhook: 'delivery (company, webhook_id, due_at) where asked and due_at is not null',
};
const replaced: Record<string, string> = {
  event_fleet: `event (fleet_id, position) ${ofPublished('fleet_id')}`,
  event_contract: `event (contract_id, position) ${ofPublished('contract_id')}`,
  delivery_due: 'delivery (webhook_id, due_at) where due_at is not null',
  delivery_asked: 'delivery (webhook_id, due_at) where asked and due_at is not null',
};

/**
 * They begin with the company, as statements have it. Without it, PostgreSQL takes the company and the fleet for two conditions
 * that have nothing to do with each other, expects next to no rows, and reads all events of both to put them in order.
 */
export class Migration20261122050000 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    for (const statement of replaceIndexes(made, Object.keys(replaced))) this.addSql(statement);
  }

  override down(): void {
    for (const statement of replaceIndexes(replaced, Object.keys(made))) this.addSql(statement);
  }
}
