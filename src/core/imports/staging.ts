import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { prepare } from '../sql/prepare.ts';
import { onPrimary } from '../sql/send.ts';
import { listRows } from '../sql/sql.ts';
import { db } from '../sql/tables.ts';
import { warningsText } from '../vehicles/new-vehicle.ts';
import { readVin, type VinError } from '../vin.ts';
import type { CsvRow } from './csv/rows.ts';
import type { ImportRow } from './imports.ts';
import { endedEarly, type Start, startOf, stillRunning } from './run.ts';

/** Rows that are read without a pause: about a millisecond's work. */
const SORTED_AT_ONCE = 500;
/** So often, at most, an import says how far it is. */
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
  #toldAt = 0;
  /** How many rows have been told of. */
  #told = 0;
  #underWay: Promise<void> = Promise.resolve();

  constructor(ctx: Context, run: ImportRow) {
    this.#ctx = ctx;
    this.#run = run;
  }

  /** Rows that are set aside. */
  get good(): number {
    return this.received - this.rejected;
  }

  /** Takes a batch; it is sent while the next one is read. */
  async add(rows: readonly CsvRow[]): Promise<void> {
    const refused: Refused[] = [];
    const good = await this.#sort(rows, refused);
    await this.#underWay;
    this.received += rows.length;
    this.rejected += refused.length;
    this.#underWay = this.#write(good, refused);
    // Whoever comes next hears of it.
    this.#underWay.catch(() => {});
  }

  /** Resolves when all that was taken is set aside, and everybody can see it. */
  async end(): Promise<void> {
    await this.#underWay;
    if (this.#told < this.received) await this.#tell();
  }

  async #write(good: Good, refused: readonly Refused[]): Promise<void> {
    if (good.rows.length > 0) await this.#setAside(good);
    if (refused.length > 0) await this.#keep(refused);
    if (performance.now() - this.#toldAt >= TOLD_EVERY_MS) await this.#tell();
  }

  /** Between some rows others have their turn: thousands at once would hold up the whole process. */
  async #sort(rows: readonly CsvRow[], refused: Refused[]): Promise<Good> {
    const { manufacturers } = this.#ctx.services;
    const good: Good = { rows: [], vins: [], manufacturers: [], supported: [], warnings: [], cells: [] };
    let withCells = false;
    for (const [at, one] of rows.entries()) {
      if (at % SORTED_AT_ONCE === 0) await setImmediate();
      const reading = readVin(one.value);
      if (!('vin' in reading)) {
        refused.push({ ...one, ...reading });
        continue;
      }
      good.rows.push(one.row);
      good.vins.push(reading.vin);
      good.manufacturers.push(manufacturers.manufacturerOf(reading.vin));
      good.supported.push(manufacturers.supports(reading.vin) ? 't' : 'f');
      good.warnings.push(warningsText(reading));
      good.cells?.push(one.cells);
      withCells ||= one.cells !== null;
    }
    return withCells ? good : { ...good, cells: null };
  }

  async #setAside(good: Good): Promise<void> {
    const [kept] = await setAside(onPrimary(this.#ctx), {
      ...startOf(this.#run),
      firstRow: good.rows[0] ?? 0,
      rows: arrayOf(good.rows),
      vins: arrayOf(good.vins),
      manufacturers: arrayOf(good.manufacturers),
      supported: arrayOf(good.supported),
      warnings: arrayOf(good.warnings),
      cells: good.cells && JSON.stringify(good.cells),
    });
    if (!kept) throw await endedEarly(this.#ctx, this.#run);
  }

  async #keep(refused: readonly Refused[]): Promise<void> {
    const kept = refused.slice(0, Math.max(0, this.#ctx.services.config.LIMIT_REJECTED_ROWS - this.kept));
    if (kept.length === 0) return;
    this.kept += kept.length;
    await keepRejected(onPrimary(this.#ctx), {
      company: this.#run.company,
      importId: this.#run.id,
      rows: kept.map(({ row }) => row),
      values: kept.map(({ value }) => value),
      codes: kept.map(({ code }) => code),
      messages: kept.map(({ message }) => message),
      cells: kept.map(({ cells }) => cells && JSON.stringify(cells)),
    });
  }

  /** Says how far the import is, to whoever follows it. */
  async #tell(): Promise<void> {
    this.#toldAt = performance.now();
    const { received, rejected } = this;
    const [told] = await tell(onPrimary(this.#ctx), { ...startOf(this.#run), received, rejected });
    if (!told) throw await endedEarly(this.#ctx, this.#run);
    this.#told = received;
    this.#ctx.services.changes.announce('import', this.#run.id);
  }
}

type Refused = CsvRow & VinError;

/** A boolean as PostgreSQL writes it, in a letter. */
type Flag = 't' | 'f';

/** Good rows of a batch, column by column. */
interface Good {
  rows: number[];
  vins: string[];
  manufacturers: (string | null)[];
  supported: Flag[];
  warnings: (string | null)[];
  /** null: none of the rows has other cells than its VIN. */
  cells: (string[] | null)[] | null;
}

/** Columns as arrayOf writes them. */
interface Batch extends Start {
  firstRow: number;
  rows: string;
  vins: string;
  manufacturers: string;
  supported: string;
  warnings: string;
  cells: string | null;
}

const setAside = prepare((p: Batch) =>
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

interface Rejections {
  company: string;
  importId: string;
  rows: readonly number[];
  values: readonly string[];
  codes: readonly string[];
  messages: readonly string[];
  cells: readonly (string | null)[];
}

const keepRejected = prepare((p: Rejections) =>
  db
    .insertInto('import_rejection')
    .columns(['company', 'import_id', 'row', 'value', 'code', 'message', 'cells'])
    .expression((q) =>
      q
        .selectFrom(
          listRows('r', {
            row: [p.rows, 'int'],
            value: [p.values, 'text'],
            code: [p.codes, 'text'],
            message: [p.messages, 'text'],
            cells: [p.cells, 'jsonb'],
          }),
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
    .returning('import.id'),
);

/** An array as PostgreSQL writes it. Only for numbers, VINs, slugs, flags, codes and null: nothing in them needs quotes. */
const arrayOf = (values: readonly (string | number | null)[]) => `{${values.map((value) => value ?? 'null').join()}}`;
