import type { FileHandle } from 'node:fs/promises';
import { decodeText } from './csv/decode.ts';
import { isPlainCsv, parseCsvRecords, scanCsvRecords } from './csv/head.ts';
import { type CsvLayout, type CsvStart, readCsvStart } from './csv/layout.ts';
import { type CsvLimits, usualLimits } from './csv/limits.ts';
import { stripTextMarks } from './csv/vin-cells.ts';
import { tooManyBytesError, tooManyRowsError, unreadableFileError, unreadableRowError } from './rejection.ts';

/** `sheet` is the one that is read of a workbook. */
export type TableLayout = CsvLayout & { sheet: string | null };

/** A file as far as its first rows tell; the others are read while they are iterated over, in constant memory. */
type Table = TableLayout & { rows: AsyncIterable<CsvRow[]> };

/** The beginning, as Latin-1, of a ZIP archive, as workbooks are: read by a descriptor, since their table of contents is at the end. */
export const WORKBOOK_START = 'PK\x03\x04';

/** Opens a file on disk, which is open until its rows are read. Throws FileRejection. */
export async function openVinFile(file: FileHandle, limits = usualLimits): Promise<Table> {
  const { size } = await file.stat();
  if (size > limits.bytes) throw tooManyBytesError(limits.bytes);
  const { buffer } = await file.read(Buffer.alloc(WORKBOOK_START.length), { position: 0 });
  const isWorkbook = buffer.toString('latin1') === WORKBOOK_START;
  return openVinTable(isWorkbook ? file.fd : file.createReadStream({ start: 0, autoClose: false }), limits);
}

/** Opens a file of VINs: CSV text, or a workbook by its descriptor, whose rows are those of its sheet saved as CSV. */
export async function openVinTable(file: AsyncIterable<Buffer> | number, limits: CsvLimits): Promise<Table> {
  if (typeof file !== 'number') return openVinCsv(file, limits);
  // Loaded by the first workbook: a list in CSV needs no reader of archives.
  const { openVinSheet } = await import('./spreadsheet/workbook.ts');
  const { name, start, text, errorOf } = await openVinSheet(file, limits);
  return { ...start.layout, sheet: name, rows: rowsOf(start, text, limits, errorOf) };
}

/**
 * Opens a CSV file of VINs. Throws, here or from `rows`: FileRejection, and errors of the input, which is destroyed when reading
 * fails or the iteration ends early, but not if it never begins.
 */
export async function openVinCsv(input: AsyncIterable<Buffer>, limits: CsvLimits): Promise<Table> {
  const text = decodeText(input, limits.bytes);
  try {
    const start = await readCsvStart(text, limits);
    return { ...start.layout, sheet: null, rows: rowsOf(start, text, limits) };
  } catch (error) {
    await text.return();
    throw error;
  }
}

export interface CsvRow {
  /** The number that a spreadsheet shows: the header is 1, blank lines count, line breaks inside a cell do not. */
  row: number;
  value: string;
  /** All cells; null where the VIN is the only one. */
  cells: string[] | null;
}

const BATCH_ROWS = 5_000;

/** Batches of at most 5,000 rows, read on demand; a row that cannot be read, or no rows at all, ends them with an error. */
async function* rowsOf(
  start: CsvStart,
  pieces: AsyncGenerator<string, void>,
  limits: CsvLimits,
  errorOf = (error: unknown) => error,
) {
  let held = '';
  let { row } = start;
  let total = 0;
  try {
    for await (const piece of endedText(start.text, pieces)) {
      held += piece;
      const block = await readBlock(held, row, start, limits);
      held = held.slice(block.end);
      row += block.records;
      total += block.rows.length;
      if (total > limits.rows) throw tooManyRowsError(limits.rows);
      for (let at = 0; at < block.rows.length; at += BATCH_ROWS) yield block.rows.slice(at, at + BATCH_ROWS);
    }
    if (held) throw unreadableRowError(row, 'QUOTE_NOT_CLOSED');
    if (total === 0) throw unreadableFileError('NO_ROWS', 'The file holds no rows, only a header.');
  } catch (error) {
    throw errorOf(error);
  } finally {
    await pieces.return();
  }
}

async function* endedText(ahead: string, pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield ahead;
  yield* pieces;
  yield '\n';
}

/** Reads the whole records of a text; `end` is the index after them. */
async function readBlock(text: string, row: number, start: CsvStart, limits: CsvLimits) {
  const { delimiter } = start.layout;
  if (start.vinAt === 0 && isPlainCsv(text, delimiter)) return readPlainCsvBlock(text, row, limits);
  const { end, records, fault } = scanCsvRecords(text, delimiter, limits.rowLength);
  const rows = await parseCsvRows(text.slice(0, end), row, start, limits);
  if (fault) throw unreadableRowError(row + records, fault, limits.rowLength);
  return { rows, records, end };
}

/** One column and no quotes: lines are rows, many times faster than with a parser (bench/csv.ts). The results are the same. */
export function readPlainCsvBlock(text: string, firstRow: number, limits: CsvLimits) {
  const lines = text.split('\n');
  const unended = lines.pop() ?? '';
  const rows: CsvRow[] = [];
  let row = firstRow;
  for (const line of lines) {
    if (line.length > limits.rowLength) throw unreadableRowError(row, 'ROW_TOO_LONG', limits.rowLength);
    if (line.trim() !== '') {
      if (line.length > limits.fieldLength) throw unreadableRowError(row, 'FIELD_TOO_LONG', limits.fieldLength);
      rows.push({ row, value: stripTextMarks(line), cells: null });
    }
    row++;
  }
  if (unended.length > limits.rowLength) throw unreadableRowError(row, 'ROW_TOO_LONG', limits.rowLength);
  return { rows, records: lines.length, end: text.length - unended.length };
}

/** Any other block: the cells come from fast-csv. `text` consists of whole records. */
export async function parseCsvRows(
  text: string,
  firstRow: number,
  start: CsvStart,
  limits: CsvLimits,
): Promise<CsvRow[]> {
  const { vinAt, layout } = start;
  const rows: CsvRow[] = [];
  let row = firstRow - 1;
  for (const cells of await parseCsvRecords(text, layout.delimiter)) {
    row++;
    if (cells.length > limits.columns) throw unreadableRowError(row, 'TOO_MANY_COLUMNS', limits.columns);
    if (cells.every((cell) => cell.trim() === '')) continue;
    if (cells.some((cell) => cell.length > limits.fieldLength)) {
      throw unreadableRowError(row, 'FIELD_TOO_LONG', limits.fieldLength);
    }
    if (layout.delimiter === ',') joinDecimalComma(cells, vinAt);
    const alone = cells.length === 1 && vinAt === 0;
    rows.push({ row, value: stripTextMarks(cells[vinAt] ?? ''), cells: alone ? null : cells });
  }
  return rows;
}

/** A VIN that a spreadsheet made a number with a decimal comma, 1,23E+16, has become two cells: make it one again. */
function joinDecimalComma(cells: string[], at: number): void {
  const damaged = /^\d$/.test(cells[at] ?? '') && /^\d+E\+\d+$/i.test(cells[at + 1] ?? '');
  if (damaged) cells.splice(at, 2, `${cells[at]},${cells[at + 1]}`);
}
