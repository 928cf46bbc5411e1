import { VIN_COLUMN_NAMES } from './csv/header-names.ts';
import { cutText } from './cut-text.ts';

/** What is wrong with a row that makes the rest of the file unreadable. */
const ROW_ERRORS = {
  ROW_TOO_LONG: (limit: number) =>
    `is longer than ${counted(limit)} characters; is a quote (") opened and never closed?`,
  TOO_MANY_COLUMNS: (limit: number) => `has more than ${counted(limit)} columns.`,
  FIELD_TOO_LONG: (limit: number) => `has a cell of more than ${counted(limit)} characters.`,
  QUOTE_NOT_CLOSED: () => 'opens a quote (") that is never closed.',
  QUOTE_MISPLACED: () => 'has text after a closing quote ("); a quote inside a quoted cell is written twice.',
};

export type RowErrorCode = keyof typeof ROW_ERRORS;
const rowErrorCodes = Object.keys(ROW_ERRORS) as RowErrorCode[];
/** Codes of tables that cannot be read. */
export const fileErrorCodes = [
  'NO_ROWS',
  'VIN_COLUMN_MISSING',
  'COLUMN_NOT_FOUND',
  'WORKBOOK_DAMAGED',
  ...rowErrorCodes,
] as const;
type FileErrorCode = (typeof fileErrorCodes)[number];

/** A file that is rejected as a whole: it is too large, no table, or a table that cannot be read. */
export class FileRejection extends Error {
  readonly code: FileErrorCode | 'FILE_TOO_LARGE' | 'NOT_A_TABLE';
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: FileRejection['code'], message: string, details: FileRejection['details'] = {}, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.details = details;
  }
}

/** A file in which no column of VINs is found can be sent again with its name. */
export const isOfColumn = (error: unknown): error is FileRejection =>
  error instanceof FileRejection && (error.code === 'VIN_COLUMN_MISSING' || error.code === 'COLUMN_NOT_FOUND');

/** What to do with a table in another format. */
export const SAVE_AS_TABLE = 'Open it in a spreadsheet program, save it as .xlsx or "CSV UTF-8", and send that.';

export const notTable = (message: string) => new FileRejection('NOT_A_TABLE', message);
export const fileTooLarge = (message: string) => new FileRejection('FILE_TOO_LARGE', message);

const tooLarge = (fact: string) => fileTooLarge(`The file ${fact}. Split it into several files.`);
export const tooManyBytesError = (limit: number) => tooLarge(`is larger than ${counted(limit)} bytes`);
export const tooManyRowsError = (limit: number) => tooLarge(`holds more than ${counted(limit)} rows`);

export const unreadableRowError = (row: number, code: RowErrorCode, limit = 0) =>
  unreadableFileError(code, `Row ${row} ${ROW_ERRORS[code](limit)}`, { row });

export const unreadableFileError = (code: FileErrorCode, message: string, details?: FileRejection['details']) =>
  new FileRejection(code, message, details);

/** The error of a table whose columns are not known; `cells` are those of its header, or of its widest row. */
export const noVinColumnError = (cells: readonly string[]) =>
  vinColumnMissingError(`No column of the file holds VINs. Found: ${quotedList(cells)}.`, {
    found: cells.slice(0, MOST_SHOWN),
  });

/** The error of a file without a column of VINs; `fact` says what it has instead. */
export function vinColumnMissingError(fact: string, details: FileRejection['details']) {
  const message = `${fact} Name the column ${VIN_COLUMN_NAMES.join(', ')}; or name your own as "column"; or send VINs and no header.`;
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
