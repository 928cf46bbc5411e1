import { type Selectable, sql } from 'kysely';

import type { Context } from '../context.ts';
import { db, prepare } from '../sql/sql.ts';
import type { Tables } from '../sql/table-types.ts';
import { type ImportRunKey, importEndedError, stillRunningCondition } from './import-run.ts';
import { type ImportRow, rejectionColumns } from './imports.ts';
import type { CsvRowBatch, RejectedCsvRow, ValidCsvRows } from './row-batch.ts';
import { STAGED_STEP_BYTES, takeStagedRoom } from './staged-room.ts';

const PROGRESS_EVERY_MS = 200;
/** Rejected rows are kept up to this part of the largest file: of a packed one, a few kilobytes arrive. */
const REJECTED_PART = 4;

/** Sets the rows of a file aside until its end, a statement for each batch: no transaction is open meanwhile. */
export class ImportStaging {
  received = 0;
  rejected = 0;
  readonly #ctx: Context;
  readonly #run: ImportRow;
  /** Rejected rows that are kept for the report. */
  #reportRows = 0;
  #reportBytes = 0;
  #bytes = 0;
  #room = STAGED_STEP_BYTES;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> = Promise.resolve();

  constructor(ctx: Context, run: ImportRow) {
    this.#ctx = ctx;
    this.#run = run;
  }

  get good(): number {
    return this.received - this.rejected;
  }

  /** Of rows that are kept for the report; a batch may begin with the last byte. */
  get roomForRejected(): { rows: number; bytes: number } {
    const { LIMIT_REJECTED_ROWS, LIMIT_FILE_BYTES } = this.#ctx.services.config;
    const bytes = LIMIT_FILE_BYTES / REJECTED_PART - this.#reportBytes;
    return { rows: Math.max(0, LIMIT_REJECTED_ROWS - this.#reportRows), bytes: Math.max(0, Math.floor(bytes)) };
  }

  /** Takes a batch; it is sent while the next one is read. */
  async add({ received, good, rejected }: CsvRowBatch): Promise<void> {
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

  async beginStoring(): Promise<void> {
    const shown = await this.#show('STORING', this.#ctx.now());
    if (!shown) throw await importEndedError(this.#ctx, this.#run);
  }

  async #write(good: ValidCsvRows | null, rejected: readonly RejectedCsvRow[]): Promise<void> {
    if (good) {
      this.#bytes += sizeOf(good);
      if (this.#bytes > this.#room) this.#room = await takeStagedRoom(this.#ctx, this.#run, this.#bytes);
      const [staged] = await stage(this.#ctx, { ...this.#run, ...good });
      if (!staged) throw await importEndedError(this.#ctx, this.#run);
    }
    const rows = rejected.slice(0, this.roomForRejected.rows);
    if (rows.length > 0 && this.roomForRejected.bytes > 0) {
      const { company, id: import_id } = this.#run;
      const text = JSON.stringify(rows.map((row) => ({ company, import_id, ...row })));
      this.#reportRows += rows.length;
      this.#reportBytes += Buffer.byteLength(text);
      await keepRejected(this.#ctx, { rows: text });
    }
    this.#timer ??= setTimeout(() => void this.#show('RUNNING').catch(() => {}), PROGRESS_EVERY_MS);
  }

  /** Shows the rows so far; false where the import has ended or was started anew. */
  async #show(state: 'RUNNING' | 'STORING', storingSince: Date | null = null): Promise<boolean> {
    this.#timer = undefined;
    const { received, rejected } = this;
    const [shown] = await showProgress(this.#ctx, { ...this.#run, state, storingSince, received, rejected });
    if (shown) this.#ctx.services.changes.announce('import', this.#run.id);
    return shown !== undefined;
  }
}

/** As they are sent, which is about what the database keeps: it does not compress them. */
function sizeOf({ rows, vins, manufacturers, supported, warnings, cells }: ValidCsvRows): number {
  const plain = [rows, vins, manufacturers, supported, warnings].reduce((bytes, { length }) => bytes + length, 0);
  return plain + Buffer.byteLength(cells ?? '');
}

const stage = prepare((p: ImportRunKey & ValidCsvRows) =>
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
        .where(stillRunningCondition(p)),
    )
    .returning('first_row'),
);

const keepRejected = prepare((p: { rows: string }) => {
  const rows = sql<Selectable<Tables['import_rejection']>>`jsonb_populate_recordset(null::import_rejection,
    ${p.rows}::jsonb)`;
  return db
    .insertInto('import_rejection')
    .columns(rejectionColumns)
    .expression((q) => q.selectFrom(rows.as('r')).select(rejectionColumns));
});

type Progress = Pick<ImportRow, 'received' | 'rejected'> & { state: 'RUNNING' | 'STORING'; storingSince: Date | null };

const showProgress = prepare((p: ImportRunKey & Progress) =>
  db
    .updateTable('import')
    .set({ state: p.state, storing_since: p.storingSince, received: p.received, rejected: p.rejected })
    .where(stillRunningCondition(p))
    // Progress that was shown late does not undo STORING.
    .where('import.state', '=', sql.lit('RUNNING'))
    .returning('import.id'),
);
