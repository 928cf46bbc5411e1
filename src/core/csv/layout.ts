import { type CsvLimits, unreadableFile, unreadableRow } from './limits.ts';
import { parseRecords, scanRecords } from './records.ts';

export type Delimiter = ',' | ';' | '\t' | '|';

export interface CsvLayout {
  /** The header's cells as in the file; null without a header. */
  columns: string[] | null;
  delimiter: Delimiter;
}

/** Where reading goes on once the layout is known: `text` is what was read ahead, and begins with row number `row`. */
export interface Start {
  layout: CsvLayout;
  vinAt: number;
  text: string;
  row: number;
}

const DELIMITERS: readonly Delimiter[] = [',', ';', '\t', '|'];
const ANY_DELIMITER = DELIMITERS.join('');
const BLANK_LINES = /^[\s,;|]*\n/;
/** Excel's way to name the delimiter: a line before all others, which is no row. */
const SEPARATOR_LINE = /^"?sep=([,;\t|])"?\n$/i;

/** What a VIN's column is called, by preference. Case, spaces, dashes and underscores do not count. */
const VIN_COLUMNS = [
  'vin',
  'vin_number',
  'vehicle_identification_number',
  'vehicle_id_number',
  'fin',
  'chassis_number',
  'chassis',
];

/** Reads up to the first row that is not blank, and tells from it the delimiter, the header and the VIN's column. */
export async function readStart(pieces: AsyncIterator<string, void>, limits: CsvLimits): Promise<Start> {
  let text = '';
  let row = 1;
  let delimiters: readonly Delimiter[] = DELIMITERS;
  for (let ended = false; ; ) {
    const [blank = ''] = BLANK_LINES.exec(text) ?? [];
    row += blank.split('\n').length - 1;
    text = text.slice(blank.length);

    const { end, fault } = scanRecords(text, ANY_DELIMITER, limits.rowLength, 1);
    if (fault) throw unreadableRow(row, fault, limits.rowLength);
    if (end === 0) {
      if (ended && text) throw unreadableRow(row, 'QUOTE_NOT_CLOSED');
      if (ended) throw unreadableFile('NO_ROWS', 'The file holds no rows.');
      const piece = await pieces.next();
      ended = piece.done === true;
      text += piece.done ? '\n' : piece.value;
      continue;
    }

    const record = text.slice(0, end);
    const rest = text.slice(end);
    const separator = row === 1 ? DELIMITERS.find((one) => one === SEPARATOR_LINE.exec(record)?.[1]) : undefined;
    if (separator && delimiters === DELIMITERS) {
      delimiters = [separator];
      text = rest;
      continue;
    }

    const { cells, delimiter } = await bestReading(record, delimiters, row);
    if (cells.length > limits.columns) throw unreadableRow(row, 'TOO_MANY_COLUMNS', limits.columns);
    const vinAt = vinColumn(cells);
    if (vinAt >= 0) return { layout: { columns: cells, delimiter }, vinAt, text: rest, row: row + 1 };
    if (isMeantAsVin(cells[0] ?? '')) return { layout: { columns: null, delimiter }, vinAt: 0, text, row };
    if (cells.some((cell) => cell.trim())) throw noVinColumn(cells);
    text = rest;
    row++;
  }
}

interface Reading {
  cells: string[];
  delimiter: Delimiter;
}

/** Each delimiter reads the first row differently: best is what names a VIN column, then what begins with a VIN, then what has most cells. */
async function bestReading(record: string, delimiters: readonly Delimiter[], row: number): Promise<Reading> {
  let best: (Reading & { rank: number }) | undefined;
  for (const delimiter of delimiters) {
    if (scanRecords(record, delimiter, record.length).end !== record.length) continue;
    const [cells = []] = await parseRecords(record, delimiter);
    const rank = vinColumn(cells) >= 0 ? 2 : (cells[0] ?? '').trim().length === 17 ? 1 : 0;
    if (best && (rank < best.rank || (rank === best.rank && cells.length <= best.cells.length))) continue;
    best = { cells, delimiter, rank };
  }
  if (!best) throw unreadableRow(row, 'QUOTE_MISPLACED');
  return best;
}

function vinColumn(cells: readonly string[]): number {
  const names = cells.map(bareName);
  const known = VIN_COLUMNS.map(bareName).find((name) => names.includes(name));
  return known === undefined ? -1 : names.indexOf(known);
}

function bareName(name: string): string {
  return unmarked(name)
    .replace(/[\s_-]/g, '')
    .toLowerCase();
}

/**
 * Header or data? A first row that names no VIN column is data when its first cell holds a digit, as every VIN does and
 * headings rarely do. So a bad VIN in the first row of a file without a header is reported as a bad row.
 */
function isMeantAsVin(cell: string): boolean {
  return /\d/.test(cell);
}

function noVinColumn(cells: readonly string[]): Error {
  const shown = cells.slice(0, 20).map((cell) => `"${cell.slice(0, 40)}"`);
  if (cells.length > shown.length) shown.push(`and ${cells.length - shown.length} more`);
  const message = `No column of the file holds VINs. Found: ${shown.join(', ')}. Name the column ${VIN_COLUMNS.join(', ')}; or send no header and the VIN in the first column.`;
  return unreadableFile('VIN_COLUMN_MISSING', message, { found: cells.slice(0, 20), accepted: VIN_COLUMNS });
}

/** A cell freed from what spreadsheets and our own rejected.csv put around text: `'WVW…` and `="WVW…"`. */
export function unmarked(cell: string): string {
  const text = cell.startsWith("'") ? cell.slice(1) : cell;
  return text.startsWith('="') && text.endsWith('"') ? text.slice(2, -1) : text;
}
