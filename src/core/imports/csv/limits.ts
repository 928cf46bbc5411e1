import { PayloadTooLarge, ValidationFailed } from '../../errors.ts';

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

function counted(limit: number): string {
  return limit.toLocaleString('en');
}
