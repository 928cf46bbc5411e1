import { Migration } from '@mikro-orm/migrations';

/** Blocks of a table whose rows are locked at a time: one or two thousand rows. */
const BLOCKS = 20;

/**
 * Fills the company of rows of before, a stretch of the table at a time, so that nobody waits for long. Each statement is a
 * transaction of its own, and does nothing where it was done before. The triggers of the migration before do the work.
 */
export class Migration20261121000120 extends Migration {
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    for (const table of ['vehicle_tally', 'import_batch', 'import_rejection', 'delivery']) {
      const [size] = await this.execute(
        `select pg_relation_size('${table}') / current_setting('block_size')::int as blocks`,
      );
      for (let block = 0; block < Number(size?.blocks ?? 0); block += BLOCKS) {
        await this.execute(`update ${table} set company = null
          where company is null and ctid >= '(${block},0)' and ctid < '(${block + BLOCKS},0)'`);
      }
      this.addSql(`alter table ${table} validate constraint ${table}_company`);
    }
  }

  override down(): void {}
}
