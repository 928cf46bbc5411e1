import { PayloadTooLarge, ValidationFailed } from '../../errors.ts';
import { VIN_COLUMNS } from './header-names.ts';

/** How much of a CSV file is read: bytes of the file, data rows, and per row characters, cells and characters of a cell. */
export interface CsvLimits {
  bytes: number;
  rowLength: number;
  columns: number;
  fieldLength: number;
  rows: number;
}

/** Throws PayloadTooLarge as soon as the bytes are more than `maxBytes`. */
export async function* bounded(input: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new PayloadTooLarge(`The file is larger than ${counted(maxBytes)} bytes. Split it into several files.`);
    }
    yield chunk;
  }
}

/** Bytes and rows are a matter of size (413); what is wrong with one row is a matter of content (400). */
export function tooManyRows(limit: number): PayloadTooLarge {
  return new PayloadTooLarge(`The file holds more than ${counted(limit)} rows. Split it into several files.`);
}

const ROW_ERRORS = {
  ROW_TOO_LONG: (limit: number) =>
    `is longer than ${counted(limit)} characters; is a quote (") opened and never closed?`,
  TOO_MANY_COLUMNS: (limit: number) => `has more than ${counted(limit)} columns.`,
  FIELD_TOO_LONG: (limit: number) => `has a cell of more than ${counted(limit)} characters.`,
  QUOTE_NOT_CLOSED: () => 'opens a quote (") that is never closed.',
  QUOTE_MISPLACED: () => 'has text after a closing quote ("); a quote inside a quoted cell is written twice.',
};

export type RowErrorCode = keyof typeof ROW_ERRORS;

/** A row that makes the rest of the file unreadable, so the whole file is rejected. */
export function unreadableRow(row: number, code: RowErrorCode, limit = 0): ValidationFailed {
  return unreadableFile(code, `Row ${row} ${ROW_ERRORS[code](limit)}`, { row });
}

export function unreadableFile(code: string, message: string, details: Record<string, unknown> = {}): ValidationFailed {
  return new ValidationFailed([{ path: '', code, message }], message, details);
}

/** The error of a table whose columns are not known; `cells` are those of its header, or of its widest row. */
export function noVinColumn(cells: readonly string[]): Error {
  const found = `No column of the file holds VINs. Found: ${listed(cells, cells.length)}.`;
  return vinColumnMissing(found, { found: cells.slice(0, MOST_SHOWN) });
}

/** The error of a file without a column of VINs; `found` says what it has instead. */
export function vinColumnMissing(found: string, details: Record<string, unknown>): Error {
  const message = `${found} Name the column ${VIN_COLUMNS.join(', ')}; or send VINs and no header.`;
  return unreadableFile('VIN_COLUMN_MISSING', message, { ...details, accepted: VIN_COLUMNS });
}

const MOST_SHOWN = 20;

/** The first texts in quotes, and how many more there are of `count`. */
export function listed(texts: readonly string[], count: number): string {
  const shown = texts.slice(0, MOST_SHOWN).map((text) => `"${text.slice(0, 40)}"`);
  if (count > shown.length) shown.push(`and ${count - shown.length} more`);
  return shown.join(', ');
}

function counted(limit: number): string {
  return limit.toLocaleString('en');
}
