import { readVin } from '../../vin.ts';
import { type Delimiter, Head, type Line, type Reading, type Rest } from './head.ts';
import { UNCERTAIN, VIN_COLUMNS, vinNamePreference } from './header-names.ts';
import { type CsvLimits, unreadableFile, unreadableRow } from './limits.ts';

export interface CsvLayout {
  /** The header's cells as in the file; null without a header, but for a file whose VIN is not first: made up, then. */
  columns: string[] | null;
  delimiter: Delimiter;
}

export interface Start extends Rest {
  layout: CsvLayout;
  vinAt: number;
  doubt: Doubt;
}

/** Whether a table's VINs are there (0), or merely cells that look like wrong ones (1), or a single column with digits (2). */
export type Doubt = 0 | 1 | 2;

/** Titles and whatever else people put above a table end within so many rows. */
const HEADER_WITHIN = 20;

/**
 * Reads as many of the first rows as tell the delimiter, the header and the VIN's column. The header is the first row that
 * has one of the names; what stands above it is no data. Without one, the first VIN shows the column, and every row is data.
 * Throws ValidationFailed where neither is found.
 */
export async function readStart(
  pieces: AsyncIterator<string, void>,
  limits: CsvLimits,
  delimiter?: Delimiter,
): Promise<Start> {
  const head = new Head(pieces, limits, delimiter);
  const above: Line[] = [];
  let uncertain: Header | undefined;
  for (let line = await head.next(); line; line = await head.next()) {
    const named = find(line, vinColumn);
    if (named && named.rank < UNCERTAIN) return belowHeader(head, { ...named, line }, limits);
    if (named && (!uncertain || named.rank < uncertain.rank)) uncertain = { ...named, line };
    above.push(line);
    const data = find(line, (cells) => firstCell(cells, isVin));
    if (data && uncertain?.vinAt === data.vinAt && uncertain.delimiter === data.delimiter) {
      return belowHeader(head, uncertain, limits);
    }
    if (data) return withoutHeader(head, above, narrow(data, line, limits));
    if (above.length === HEADER_WITHIN) break;
  }
  if (uncertain) return { ...belowHeader(head, uncertain, limits), doubt: 1 };
  const [first] = above;
  if (!first) throw unreadableFile('NO_ROWS', 'The file holds no rows.');
  const { doubt, ...wrong } = wrongVins(above, first);
  return { ...withoutHeader(head, above, narrow(wrong, first, limits)), doubt };
}

/** A column of a row; the lower its rank, the more likely it is the VIN's. */
interface Column {
  vinAt: number;
  rank: number;
}

interface Found extends Reading, Column {}

interface Header extends Found {
  line: Line;
}

/** The reading of a row in which `place` finds the column of the lowest rank, and of such the one with most cells. */
function find({ readings }: Line, place: (cells: readonly string[]) => Column | undefined): Found | undefined {
  let best: Found | undefined;
  for (const reading of readings) {
    const column = place(reading.cells);
    if (!column || (best && column.rank > best.rank)) continue;
    if (best && column.rank === best.rank && reading.cells.length <= best.cells.length) continue;
    best = { ...reading, ...column };
  }
  return best;
}

/** The leftmost cell of a kind. */
function firstCell(cells: readonly string[], isMeant: (cell: string) => boolean): Column | undefined {
  const vinAt = cells.findIndex(isMeant);
  return vinAt === -1 ? undefined : { vinAt, rank: vinAt };
}

function belowHeader(head: Head, header: Header, limits: CsvLimits): Start {
  const { cells: columns, delimiter, vinAt } = narrow(header, header.line, limits);
  return { layout: { columns, delimiter }, vinAt, doubt: 0, ...head.after(header.line) };
}

function narrow(found: Found, { row }: Line, limits: CsvLimits): Found {
  if (found.cells.length > limits.columns) throw unreadableRow(row, 'TOO_MANY_COLUMNS', limits.columns);
  return found;
}

/** Rows without a single VIN: a list of wrong ones, which is reported row by row, or no list of VINs at all. */
function wrongVins(lines: readonly Line[], first: Line): Found & { doubt: Doubt } {
  for (const line of lines) {
    const found = find(line, (cells) => firstCell(cells, isNearlyVin));
    if (found) return { ...found, doubt: 1 };
  }
  const readings = lines.flatMap((line) => line.readings);
  const alone = readings.every(({ cells }) => cells.length <= 1);
  const found = alone && find(first, (cells) => firstCell(cells.slice(0, 1), isMeantAsVin));
  if (found) return { ...found, doubt: 2 };
  throw noVinColumn(readings.reduce((widest, one) => (one.cells.length > widest.cells.length ? one : widest)).cells);
}

/** Rows above the first VIN are bad ones, unless one of them calls the column by a name that is not known. */
function withoutHeader(head: Head, above: readonly Line[], { cells, delimiter, vinAt }: Found): Start {
  for (const { readings } of above) {
    const row = readings.find((reading) => reading.delimiter === delimiter)?.cells ?? [];
    const cell = row[vinAt] ?? '';
    if (cell.trim() !== '' && !isMeantAsVin(cell)) throw noVinColumn(row);
  }
  const columns = vinAt === 0 ? null : numberedColumns(cells.length, vinAt);
  return { layout: { columns, delimiter }, vinAt, doubt: 0, ...head.from(above[0] as Line) };
}

export const numberedColumns = (count: number, vinAt = 0): string[] =>
  Array.from({ length: count }, (_, at) => (at === vinAt ? 'vin' : `column_${at + 1}`));

function vinColumn(cells: readonly string[]): Column | undefined {
  const preferences = cells.map((cell) => vinNamePreference(unmarked(cell)));
  const rank = Math.min(...preferences);
  return Number.isFinite(rank) ? { vinAt: preferences.indexOf(rank), rank } : undefined;
}

/**
 * Header or data? Every VIN holds a digit, and headings rarely do. So a bad VIN in the first row of a file without a header
 * is reported as a bad row, and so is a formula that has failed.
 */
function isMeantAsVin(cell: string): boolean {
  if (/\d/.test(cell)) return true;
  const reading = readVin(unmarked(cell));
  return 'code' in reading && reading.code === 'VIN_FORMULA_ERROR';
}

/** A VIN in one word: a title of several could be one by chance. */
function isVin(cell: string): boolean {
  const text = unmarked(cell.trim());
  return isMeantAsVin(text) && !/\s/.test(text) && 'vin' in readVin(text);
}

/** A VIN in several words, what a spreadsheet has made of one, or a word that is nearly one. */
function isNearlyVin(cell: string): boolean {
  const text = unmarked(cell.trim());
  if (!isMeantAsVin(text)) return false;
  const reading = readVin(text);
  return 'vin' in reading || reading.code === 'VIN_SPREADSHEET_DAMAGE' || NEARLY_VIN.test(text);
}
const NEARLY_VIN = /^(?=[\d-]*[a-z])[a-z\d-]{14,20}$/i;

function noVinColumn(cells: readonly string[]): Error {
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

/** A cell freed from what spreadsheets and our own rejected.csv put around text: `'WVW…` and `="WVW…"`. */
export function unmarked(cell: string): string {
  const text = cell.startsWith("'") ? cell.slice(1) : cell;
  return text.startsWith('="') && text.endsWith('"') ? text.slice(2, -1) : text;
}
