import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { onPrimary } from '../sql/send.ts';
import { db, prepare } from '../sql/sql.ts';
import type { ImportRow } from './imports.ts';
import { endedEarly, type Start, stillRunning } from './run.ts';
import type { Batch, GoodRows, RejectedRow } from './table.ts';

const TOLD_EVERY_MS = 200;

/**
 * Where the rows of a file are set aside until its end: the good ones to be stored, the rejected ones to be reported.
 * Each batch is a row of its own statement, so that no transaction is open while the file arrives.
 */
export class ImportStaging {
  received = 0;
  rejected = 0;
  /** Refused rows that are kept for the report. */
  kept = 0;
  readonly #ctx: Context;
  readonly #run: ImportRow;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(ctx: Context, run: ImportRow) {
    this.#ctx = ctx;
    this.#run = run;
  }

  get good(): number {
    return this.received - this.rejected;
  }

  /** Takes a batch; it is sent while the next one is read. */
  async add({ received, good, rejected }: Batch): Promise<void> {
    await this.#underWay;
    this.received += received;
    this.rejected += rejected.length;
    this.#underWay = this.#write(good, rejected);
    // The next caller awaits #underWay and gets the error.
    this.#underWay.catch(() => {});
  }

  /** Resolves when all rows are staged; no progress is announced afterwards. */
  async end(): Promise<void> {
    await this.#underWay.finally(() => clearTimeout(this.#timer));
  }

  /** Everybody can see that all rows are there and are being stored. */
  async beginStoring(): Promise<void> {
    const { received, rejected } = this;
    const storing = { ...this.#run, received, rejected, now: this.#ctx.now() };
    const [told] = await tellOfStoring(onPrimary(this.#ctx), storing);
    if (!told) throw await endedEarly(this.#ctx, this.#run);
    this.#ctx.services.changes.announce('import', this.#run.id);
  }

  async #write(good: GoodRows | null, rejected: readonly RejectedRow[]): Promise<void> {
    if (good) {
      const [kept] = await setAside(onPrimary(this.#ctx), { ...this.#run, ...good });
      if (!kept) throw await endedEarly(this.#ctx, this.#run);
    }
    await this.#keep(rejected);
    this.#timer ??= setTimeout(() => void this.#tell().catch(() => {}), TOLD_EVERY_MS);
  }

  async #keep(rejected: readonly RejectedRow[]): Promise<void> {
    const rows = rejected.slice(0, this.#ctx.services.config.LIMIT_REJECTED_ROWS - this.kept);
    if (rows.length === 0) return;
    this.kept += rows.length;
    const { company, id: importId } = this.#run;
    await keepRejected(onPrimary(this.#ctx), { company, importId, rows: JSON.stringify(rows) });
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    const { received, rejected } = this;
    const [told] = await tell(onPrimary(this.#ctx), { ...this.#run, received, rejected });
    if (told) this.#ctx.services.changes.announce('import', this.#run.id);
  }
}

const setAside = prepare((p: Start & Omit<GoodRows, 'count'>) =>
  db
    .insertInto('import_batch')
    .columns(['company', 'import_id', 'first_row', 'rows', 'vins', 'manufacturers', 'supported', 'warnings', 'cells'])
    .expression((q) =>
      q
        .selectFrom('import')
        .select([
          'import.company',
          'import.id',
          sql<number>`${p.firstRow}::int`.as('first_row'),
          sql<number[]>`${p.rows}::int[]`.as('rows'),
          sql<string[]>`${p.vins}::text[]`.as('vins'),
          sql<(string | null)[]>`${p.manufacturers}::text[]`.as('manufacturers'),
          sql<boolean[]>`${p.supported}::boolean[]`.as('supported'),
          sql<(string | null)[]>`${p.warnings}::text[]`.as('warnings'),
          sql<string | null>`${p.cells}::json`.as('cells'),
        ])
        .where(stillRunning(p)),
    )
    .returning('first_row'),
);

const keepRejected = prepare((p: { company: string; importId: string; rows: string }) =>
  db
    .insertInto('import_rejection')
    .columns(['company', 'import_id', 'row', 'value', 'code', 'message', 'cells'])
    .expression((q) =>
      q
        .selectFrom(
          sql<Omit<RejectedRow, 'cells'> & { cells: string | null }>`jsonb_to_recordset(${p.rows}::jsonb)`.as<'r'>(
            sql`r("row" int, value text, code text, message text, cells jsonb)`,
          ),
        )
        .select([
          sql<string>`${p.company}::text`.as('company'),
          sql<string>`${p.importId}::uuid`.as('import_id'),
          'r.row',
          'r.value',
          'r.code',
          'r.message',
          'r.cells',
        ]),
    ),
);

const tell = prepare((p: Start & { received: number; rejected: number }) =>
  db
    .updateTable('import')
    .set({ received: p.received, rejected: p.rejected })
    .where(stillRunning(p))
    .where('import.state', '=', sql.lit('RUNNING'))
    .returning('import.id'),
);

const tellOfStoring = prepare((p: Start & { received: number; rejected: number; now: Date }) =>
  db
    .updateTable('import')
    .set({ state: 'STORING', storing_since: p.now, received: p.received, rejected: p.rejected })
    .where(stillRunning(p))
    .returning('import.id'),
);
