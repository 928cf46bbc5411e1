import { cutText } from '../../core/cut-text.ts';
import { PayloadTooLarge, ValidationFailed } from '../../core/errors.ts';
import { VIN_COLUMN_NAMES } from './header-names.ts';

/** The most of a CSV file that is read: bytes of the file, data rows, and per row characters, cells and characters of a cell. */
export interface CsvLimits {
  bytes: number;
  rowLength: number;
  columns: number;
  fieldLength: number;
  rows: number;
  /** The name of the column of VINs, where it is not to be found by itself. */
  column?: string | undefined;
}

/** What to do with a table in another format. */
export const SAVE_AS_TABLE = 'Open it in a spreadsheet program, save it as .xlsx or "CSV UTF-8", and send that.';

/** Throws `tooLong()` as soon as the pieces have more than `most` bytes or characters. */
export async function* limitPieces<T extends { length: number }>(
  pieces: AsyncIterable<T>,
  most: number,
  tooLong: () => Error = () => tooLarge(`is larger than ${counted(most)} bytes`),
): AsyncGenerator<T, void> {
  let left = most;
  for await (const piece of pieces) {
    left -= piece.length;
    if (left < 0) throw tooLong();
    yield piece;
  }
}

/** Bytes and rows are a matter of size (413); what is wrong with one row is a matter of content (400). */
export const tooManyRowsError = (limit: number) => tooLarge(`holds more than ${counted(limit)} rows`);

const tooLarge = (fact: string) => new PayloadTooLarge(`The file ${fact}. Split it into several files.`);

const ROW_ERRORS = {
  ROW_TOO_LONG: (limit: number) =>
    `is longer than ${counted(limit)} characters; is a quote (") opened and never closed?`,
  TOO_MANY_COLUMNS: (limit: number) => `has more than ${counted(limit)} columns.`,
  FIELD_TOO_LONG: (limit: number) => `has a cell of more than ${counted(limit)} characters.`,
  QUOTE_NOT_CLOSED: () => 'opens a quote (") that is never closed.',
  QUOTE_MISPLACED: () => 'has text after a closing quote ("); a quote inside a quoted cell is written twice.',
};

export type RowErrorCode = keyof typeof ROW_ERRORS;
/** Codes of files that are rejected as a whole. */
const rowErrorCodes = Object.keys(ROW_ERRORS) as RowErrorCode[];
export const fileErrorCodes = [
  'NO_ROWS',
  'VIN_COLUMN_MISSING',
  'COLUMN_NOT_FOUND',
  'WORKBOOK_DAMAGED',
  ...rowErrorCodes,
] as const;
type FileErrorCode = (typeof fileErrorCodes)[number];
/** A file in which no column of VINs is found can be sent again with its name. */
export const columnErrorCodes: readonly FileErrorCode[] = ['VIN_COLUMN_MISSING', 'COLUMN_NOT_FOUND'];

/** A row that makes the rest of the file unreadable, so the whole file is rejected. */
export const unreadableRowError = (row: number, code: RowErrorCode, limit = 0): ValidationFailed =>
  unreadableFileError(code, `Row ${row} ${ROW_ERRORS[code](limit)}`, { row });

export const unreadableFileError = (code: FileErrorCode, message: string, details: Record<string, unknown> = {}) =>
  new ValidationFailed([{ path: '', code, message }], message, details);

/** The error of a table whose columns are not known; `cells` are those of its header, or of its widest row. */
export const noVinColumnError = (cells: readonly string[]): Error =>
  vinColumnMissingError(`No column of the file holds VINs. Found: ${quotedList(cells)}.`, {
    found: cells.slice(0, MOST_SHOWN),
  });

/** The error of a file without a column of VINs; `fact` says what it has instead. */
export function vinColumnMissingError(fact: string, details: Record<string, unknown>): Error {
  const message = `${fact} Name the column ${VIN_COLUMN_NAMES.join(', ')}; or send VINs and no header.`;
  return unreadableFileError('VIN_COLUMN_MISSING', message, { ...details, accepted: VIN_COLUMN_NAMES });
}

const MOST_SHOWN = 20;

/** The first texts in quotes, and the number of the others. */
export function quotedList(texts: readonly string[]): string {
  const shown = texts.slice(0, MOST_SHOWN).map((text) => `"${cutText(text, 40)}"`);
  if (texts.length > shown.length) shown.push(`and ${texts.length - shown.length} more`);
  return shown.join(', ');
}

const counted = (limit: number): string => limit.toLocaleString('en');
