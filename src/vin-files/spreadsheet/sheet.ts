import type { CsvLimits } from '../csv/limits.ts';
import { cutText } from '../cut-text.ts';
import { damagedWorkbookError, readWholeXml, readXml, type XmlHandler } from './archive.ts';

/** Numbers of formats that every spreadsheet knows as those of a date or time (ECMA-376, 18.8.30). */
const BUILT_IN = /^(?:1[4-9]|2[0-2]|2[7-9]|3[0-6]|4[5-7]|5[0-8])$/;
/** Texts, colours, conditions and characters after a backslash; one that is not closed reaches to the end of the code. */
const QUOTED = /"[^"]*(?:"|$)|\[(?!h+\]|m+\]|s+\])[^\]]*(?:\]|$)|\\./gi;
const MOST_FORMATS = 65_536;

/** The numbers of a workbook's cell styles that show a number as a date or time. */
export async function readDateStyles(pieces: AsyncIterable<Buffer>): Promise<ReadonlySet<number>> {
  const codes = new Map<string, boolean>();
  const dates = new Set<number>();
  let cells = false;
  let formats = 0;
  let style = 0;
  await readWholeXml(pieces, {
    open(name, { numFmtId = '', formatCode = '' }) {
      if (name === 'numFmt' && formats++ < MOST_FORMATS) codes.set(numFmtId, isDateFormat(formatCode));
      if (name === 'cellXfs') cells = true;
      if (name !== 'xf' || !cells || style >= MOST_FORMATS) return;
      if (codes.get(numFmtId) ?? BUILT_IN.test(numFmtId)) dates.add(style);
      style++;
    },
    close(name) {
      if (name === 'cellXfs') cells = false;
    },
  });
  return dates;
}

const isDateFormat = (code: string): boolean => /[ymdhs]/i.test(code.slice(0, 1000).replace(QUOTED, ''));

const DAY_MS = 86_400_000;
/** 30 December 1899, from which spreadsheets count days; those of old Macs from 1 January 1904. */
const EPOCH = Date.UTC(1899, 11, 30);
const DAYS_TO_1904 = 1462;
/** The last day of the year 9999. */
const LAST_DAY = 2_958_465;

/** A number of days as a date, a time or both: `2026-11-22`, `08:30:00`, `2026-11-22 08:30:00`; null for none of the calendar. */
function dateText(days: number, from1904: boolean): string | null {
  if (!(days >= 0 && days < LAST_DAY + 1)) return null;
  const since1899 = from1904 ? days + DAYS_TO_1904 : days;
  // The calendar of spreadsheets has a 29 February 1900, so that the days before it have a number less.
  const day = since1899 < 60 && !from1904 ? since1899 + 1 : since1899;
  const [date = '', time = ''] = new Date(EPOCH + Math.round((day * DAY_MS) / 1000) * 1000).toISOString().split(/[T.]/);
  if (days < 1) return time;
  return Number.isInteger(days) ? date : `${date} ${time}`;
}

const MOST_ROWS = 1_048_576;
/** From this number on, spreadsheets lose digits. */
const LARGEST_EXACT = 1e15;

const PARTS_OF_CELLS: ReadonlySet<string> = new Set(['f', 'v', 't', 'rPh']);
const SHOWN_OF_FORMULA = 200;

interface Meanings {
  strings: readonly string[];
  dateStyles: ReadonlySet<number>;
  from1904: boolean;
}

/** A sheet as CSV text, piece by piece. Its rows are records of the same number, which errors then name. */
export async function* streamSheetText(
  pieces: AsyncIterable<Buffer>,
  meanings: Meanings,
  limits: CsvLimits,
): AsyncGenerator<string, void> {
  const sheet = new SheetReader(meanings, limits);
  for await (const _ of readXml(pieces, sheet)) {
    const text = sheet.take();
    if (text) yield text;
  }
}

class SheetReader implements XmlHandler {
  readonly #meanings: Meanings;
  readonly #limits: CsvLimits;
  #lines = '';
  #row = 0;
  #cells: string[] = [];
  #column = -1;
  #type = '';
  #style = '';
  #text = '';
  /** The formula of the cell; null without one, or where an empty text is its stored result. */
  #formula: string | null = null;
  #within = '';

  constructor(meanings: Meanings, limits: CsvLimits) {
    this.#meanings = meanings;
    this.#limits = limits;
  }

  take(): string {
    const text = this.#lines;
    this.#lines = '';
    return text;
  }

  open(name: string, { r = '', t = 'n', s = '' }: Readonly<Record<string, string>>): void {
    if (name === 'row') this.#openRow(r);
    else if (name === 'c') {
      this.#column = r ? columnOf(r) : this.#column + 1;
      this.#type = t;
      this.#style = s;
      this.#text = '';
      this.#formula = null;
    } else if (PARTS_OF_CELLS.has(name)) {
      this.#within ||= name;
      if (name === 'f') this.#formula = '';
      // Only texts can be stored and empty.
      if (name === 'v' && this.#type === 'str') this.#formula = null;
    }
  }

  text(more: string): void {
    if (this.#within === 'f' && this.#formula !== null) {
      // At least one more than is shown, so that the cut is made once, by #value.
      if (this.#formula.length <= SHOWN_OF_FORMULA) this.#formula += more.slice(0, SHOWN_OF_FORMULA + 1);
      return;
    }
    const isValue = this.#within === 'v' || this.#within === 't';
    if (isValue && this.#text.length <= this.#limits.fieldLength) this.#text += more;
  }

  close(name: string): void {
    if (name === this.#within) this.#within = '';
    else if (name === 'c') this.#closeCell();
    else if (name === 'row') this.#lines += `${this.#cells.map(quoted).join()}\n`;
  }

  #openRow(written: string): void {
    const row = written ? Number(written) : this.#row + 1;
    if (!(Number.isInteger(row) && row > this.#row && row <= MOST_ROWS))
      throw damagedWorkbookError(new Error(`row ${written}`));
    this.#lines += '\n'.repeat(row - this.#row - 1);
    this.#row = row;
    this.#cells = [];
    this.#column = -1;
  }

  #closeCell(): void {
    const value = this.#value();
    if (value === '') return;
    // Cells beyond the limit share one column, enough for TOO_MANY_COLUMNS, so that the row stays small.
    const column = Math.min(this.#column, this.#limits.columns);
    while (this.#cells.length < column) this.#cells.push('');
    this.#cells[column] = value;
  }

  /** The cell's value as it is shown. A formula gives its stored result, or else itself. */
  #value(): string {
    const text = this.#text;
    if (text === '') return this.#formula === null ? text : plain(`=${cutText(this.#formula, SHOWN_OF_FORMULA)}`);
    if (this.#type === 's') {
      const shared = this.#meanings.strings[Number(text)];
      if (shared === undefined) throw damagedWorkbookError(new Error(`shared string ${text}`));
      return plain(shared);
    }
    if (this.#type === 'b') return text === '1' ? 'TRUE' : 'FALSE';
    return this.#type === 'n' ? this.#number(text) : plain(text);
  }

  #number(text: string): string {
    const { dateStyles, from1904 } = this.#meanings;
    const number = Number(text);
    if (!Number.isFinite(number)) return plain(text);
    const date = this.#style && dateStyles.has(Number(this.#style)) ? dateText(number, from1904) : null;
    if (date !== null) return date;
    return Math.abs(number) < LARGEST_EXACT ? String(number) : number.toExponential().toUpperCase();
  }
}

/** The column of a cell such as `AB12`, from 0. */
function columnOf(place: string): number {
  let column = 0;
  for (let at = 0; at < place.length && at < 5; at++) {
    const letter = place.charCodeAt(at) - 64;
    if (letter < 1 || letter > 26) break;
    column = column * 26 + letter;
  }
  if (column === 0) throw damagedWorkbookError(new Error(`cell ${place}`));
  return column - 1;
}

/** A text as CSV text is after it was decoded; what a workbook writes as `_x000D_` is that character. */
function plain(text: string): string {
  const decoded = text.includes('_x')
    ? text
        .replaceAll(/_x([0-9a-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
        .toWellFormed()
    : text;
  return /[\r\ufeff\0]/.test(decoded) ? decoded.replaceAll(/\r\n?/g, '\n').replaceAll(/[\ufeff\0]/g, '') : decoded;
}

const quoted = (cell: string): string => (/[",\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
