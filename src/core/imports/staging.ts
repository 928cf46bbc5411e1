import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { execute, onPrimary } from '../sql/send.ts';
import { warningsText } from '../vehicles/add-vehicles.ts';
import { readVin, type VinError } from '../vin.ts';
import type { CsvRow } from './csv/csv.ts';
import type { ImportRow } from './imports.ts';
import { endedEarly, stillRunning } from './run.ts';

/** So often, at most, an import says how far it is. */
const TOLD_EVERY_MS = 200;

/**
 * Where the rows of a file are set aside until its end: the good ones to be stored, the refused ones to be reported.
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
    const good = this.#sort(rows, refused);
    await this.#underWay;
    this.received += rows.length;
    this.rejected += refused.length;
    this.#underWay = this.#write(good, refused);
    // Whoever comes next hears of it.
    this.#underWay.catch(() => {});
  }

  /** Resolves when all that was taken is set aside. */
  async end(): Promise<void> {
    await this.#underWay;
  }

  async #write(good: Good, refused: readonly Refused[]): Promise<void> {
    if (good.rows.length > 0) await this.#setAside(good);
    if (refused.length > 0) await this.#keep(refused);
    if (performance.now() - this.#toldAt >= TOLD_EVERY_MS) await this.#tell();
  }

  #sort(rows: readonly CsvRow[], refused: Refused[]): Good {
    const { manufacturers } = this.#ctx.services;
    const good: Good = { rows: [], vins: [], manufacturers: [], supported: [], warnings: [], cells: [] };
    let withCells = false;
    for (const one of rows) {
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
    const [kept] = await execute(
      onPrimary(this.#ctx),
      sql`
          insert into import_batch (company, import_id, first_row, rows, vins, manufacturers, supported, warnings, cells)
          select company, id, ${good.rows[0]}::int, ${arrayOf(good.rows)}::int[], ${arrayOf(good.vins)}::text[],
            ${arrayOf(good.manufacturers)}::text[], ${arrayOf(good.supported)}::boolean[],
            ${arrayOf(good.warnings)}::text[], ${good.cells && JSON.stringify(good.cells)}::json
          from import where ${stillRunning(this.#run)} returning first_row`,
    );
    if (!kept) throw await endedEarly(this.#ctx, this.#run);
  }

  async #keep(refused: readonly Refused[]): Promise<void> {
    const kept = refused.slice(0, Math.max(0, this.#ctx.services.config.LIMIT_REJECTED_ROWS - this.kept));
    if (kept.length === 0) return;
    this.kept += kept.length;
    await execute(
      onPrimary(this.#ctx),
      sql`insert into import_rejection (company, import_id, row, value, code, message, cells)
          select ${this.#run.company}::text, ${this.#run.id}::uuid, r.* from unnest(${kept.map(({ row }) => row)}::int[],
            ${kept.map(({ value }) => value)}::text[], ${kept.map(({ code }) => code)}::text[],
            ${kept.map(({ message }) => message)}::text[],
            ${kept.map(({ cells }) => cells && JSON.stringify(cells))}::jsonb[]) r`,
    );
  }

  /** Says how far the import is, to whoever follows it. */
  async #tell(): Promise<void> {
    this.#toldAt = performance.now();
    const [told] = await execute(
      onPrimary(this.#ctx),
      sql`update import set received = ${this.received}, rejected = ${this.rejected}
          where ${stillRunning(this.#run)} returning id`,
    );
    if (!told) throw await endedEarly(this.#ctx, this.#run);
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

/** An array as PostgreSQL writes it. Only for numbers, VINs, slugs, flags, codes and null: nothing in them needs quotes. */
const arrayOf = (values: readonly (string | number | null)[]) => `{${values.map((value) => value ?? 'null').join()}}`;
