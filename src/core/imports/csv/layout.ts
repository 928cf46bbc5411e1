import { cutText } from '../../cut-text.ts';
import { readVin } from '../../vin.ts';
import { type CsvDelimiter, CsvHead, type CsvHeadLine, type CsvLineReading } from './head.ts';
import { UNCERTAIN_PREFERENCE, vinNamePreference } from './header-names.ts';
import { type CsvLimits, noVinColumnError, unreadableFileError, unreadableRowError } from './limits.ts';

export interface CsvLayout {
  /** The header's cells, or numberedColumnNames without a header; null for VINs in the first column without one. */
  columns: string[] | null;
  /** The header's name of the column that is read. */
  column: string | null;
  delimiter: CsvDelimiter;
}

export interface CsvStart {
  /** The text of the table's rows as far as it was read, from the row of this number on. */
  text: string;
  row: number;
  layout: CsvLayout;
  vinAt: number;
  doubt: VinDoubtLevel;
}

/** Whether a table has VINs (0), or merely cells that look like wrong ones (1), or a single column with digits (2). */
export type VinDoubtLevel = 0 | 1 | 2;

/** Characters that answers have of a column's name. */
const NAME_LENGTH = 100;
/** Titles and other rows above a table are at most this many. */
const HEADER_WITHIN = 20;

/** Reads the first rows up to the header or, without one, the first VIN. Throws ValidationFailed without both. */
export async function readCsvStart(
  pieces: AsyncIterator<string, void>,
  limits: CsvLimits,
  delimiter?: CsvDelimiter,
): Promise<CsvStart> {
  const head = new CsvHead(pieces, limits, delimiter);
  const above: CsvHeadLine[] = [];
  let header: Header | undefined;
  for (let read = 0; read < HEADER_WITHIN; read++) {
    const line = await head.next();
    if (!line) break;
    const named = find(line, vinColumn);
    if (named && (!header || named.rank < header.rank)) header = { ...named, line };
    if (header && header.rank < UNCERTAIN_PREFERENCE && header.twins.length === 1)
      return belowHeader(head, header, limits);
    const vinAt = header && confirmed(header, line);
    if (header && vinAt !== undefined) return belowHeader(head, { ...header, vinAt }, limits);
    const data = findCell(line, isVin);
    if (data || above.length > 0 || !isComment(line)) above.push(line);
    if (data && !(header && header.rank < UNCERTAIN_PREFERENCE))
      return listOfVins(head, above, narrow(data, line, limits));
  }
  if (header) return { ...belowHeader(head, header, limits), doubt: header.rank < UNCERTAIN_PREFERENCE ? 0 : 1 };
  const [first] = above;
  if (!first) throw unreadableFileError('NO_ROWS', 'The file holds no rows.');
  const { doubt, ...wrong } = wrongVins(above, first);
  return { ...withoutHeader(head, above, narrow(wrong, first, limits)), doubt };
}

/** A column of a row; the lower its rank, the more likely it is the VIN's. */
interface Column {
  vinAt: number;
  rank: number;
  /** All columns of this rank. */
  twins: number[];
}

type Match = CsvLineReading & Column;
type Header = Match & { line: CsvHeadLine };

const cellsOf = ({ readings }: CsvHeadLine, delimiter: CsvDelimiter): readonly string[] =>
  readings.find((reading) => reading.delimiter === delimiter)?.cells ?? [];

/** The column of a header's name in which a row below holds a VIN. */
const confirmed = ({ twins, delimiter }: Header, line: CsvHeadLine): number | undefined =>
  twins.find((at) => isVin(cellsOf(line, delimiter)[at] ?? ''));

function isComment({ readings }: CsvHeadLine): boolean {
  const cell = readings[0]?.cells[0] ?? '';
  return /^\s*#(?!#)/.test(cell) && !isFormulaError(cell);
}

/** The reading of a row in which `place` finds the column of the lowest rank, and of such the one with most cells. */
function find({ readings }: CsvHeadLine, place: (cells: readonly string[]) => Column | undefined): Match | undefined {
  const matches = readings.flatMap((reading) => {
    const column = place(reading.cells);
    return column ? [{ ...reading, ...column }] : [];
  });
  return matches.toSorted((a, b) => a.rank - b.rank || b.cells.length - a.cells.length)[0];
}

/** Finds the leftmost cell of a kind. */
const findCell = (line: CsvHeadLine, isMeant: (cell: string) => boolean): Match | undefined =>
  find(line, (cells) => {
    const vinAt = cells.findIndex((cell) => isMeant(cell));
    return vinAt === -1 ? undefined : { vinAt, rank: vinAt, twins: [vinAt] };
  });

function belowHeader(head: CsvHead, header: Header, limits: CsvLimits): CsvStart {
  const { cells: columns, delimiter, vinAt } = narrow(header, header.line, limits);
  if (columns.some(isVin)) {
    const advice = 'Put the VINs below the name, each into a row of its own.';
    throw misplacedVins(header.line.row, `holds the name of a column and VINs beside it. ${advice}`);
  }
  const column = cutText(columns[vinAt] ?? '', NAME_LENGTH);
  return { layout: { columns, column, delimiter }, vinAt, doubt: 0, ...head.after(header.line) };
}

function narrow(match: Match, { row }: CsvHeadLine, limits: CsvLimits): Match {
  if (match.cells.length > limits.columns) throw unreadableRowError(row, 'TOO_MANY_COLUMNS', limits.columns);
  return match;
}

/** Rows without a single VIN: a list of wrong ones, which is reported row by row, or no list of VINs at all. */
function wrongVins(lines: readonly CsvHeadLine[], first: CsvHeadLine): Match & { doubt: VinDoubtLevel } {
  for (const line of lines) {
    const nearly = findCell(line, isNearlyVin);
    if (nearly) return { ...nearly, doubt: 1 };
  }
  const readings = lines.flatMap((line) => line.readings);
  const alone = readings.every(({ cells }) => cells.length <= 1) && findCell(first, isMeantAsVin);
  if (alone) return { ...alone, doubt: 2 };
  const widest = readings.reduce((most, one) => (one.cells.length > most.cells.length ? one : most));
  throw noVinColumnError(widest.cells);
}

/** The table without a header whose first VIN is in the last of these rows. */
function listOfVins(head: CsvHead, lines: readonly CsvHeadLine[], match: Match): CsvStart {
  const start = withoutHeader(head, lines, match);
  const cells = match.cells.filter((cell) => cell.trim() !== '');
  if (cells.length === 1 || !cells.every(isVin)) return start;
  const advice = 'Put each VIN into a row of its own, or name the column that counts: vin.';
  throw misplacedVins(lines.at(-1)?.row, `holds ${cells.length} VINs and nothing else. ${advice}`);
}

const misplacedVins = (row = 0, text: string): Error =>
  unreadableFileError('VIN_COLUMN_MISSING', `Row ${row} ${text}`, { row });

/** Rows above the first VIN are bad ones, unless one of them has an unknown name for the column. */
function withoutHeader(head: CsvHead, above: readonly CsvHeadLine[], { cells, delimiter, vinAt }: Match): CsvStart {
  for (const line of above) {
    const row = cellsOf(line, delimiter);
    const cell = row[vinAt] ?? '';
    if (cell.trim() !== '' && !isMeantAsVin(cell)) throw noVinColumnError(row);
  }
  const columns = vinAt === 0 ? null : numberedColumnNames(cells.length, vinAt);
  return { layout: { columns, column: null, delimiter }, vinAt, doubt: 0, ...head.from(above[0] as CsvHeadLine) };
}

export const numberedColumnNames = (count: number, vinAt = 0): string[] =>
  Array.from({ length: count }, (_, at) => (at === vinAt ? 'vin' : `column_${at + 1}`));

function vinColumn(cells: readonly string[]): Column | undefined {
  const preferences = cells.map((cell) => vinNamePreference(stripTextMarks(cell)));
  const rank = Math.min(...preferences);
  if (!Number.isFinite(rank)) return undefined;
  const twins = preferences.flatMap((preference, at) => (preference === rank ? [at] : []));
  return { vinAt: twins[0] ?? 0, rank, twins };
}

/** Every VIN holds a digit, and headings rarely do: a wrong VIN in the first row, or a failed formula, is no heading. */
const isMeantAsVin = (cell: string): boolean => /\d/.test(cell) || isFormulaError(cell);

function isFormulaError(cell: string): boolean {
  const reading = readVin(stripTextMarks(cell));
  return 'code' in reading && reading.code === 'VIN_FORMULA_ERROR';
}

/** A VIN in one word: a title of several could be one by chance. */
function isVin(cell: string): boolean {
  const text = stripTextMarks(cell.trim());
  return isMeantAsVin(text) && !/\s/.test(text) && 'vin' in readVin(text);
}

/** A VIN in several words, what a spreadsheet has made of one, or a word that is nearly one. */
function isNearlyVin(cell: string): boolean {
  const text = stripTextMarks(cell.trim());
  if (!isMeantAsVin(text)) return false;
  const reading = readVin(text);
  return 'vin' in reading || reading.code === 'VIN_SPREADSHEET_DAMAGE' || NEARLY_VIN.test(text);
}
const NEARLY_VIN = /^(?=[\d-]*[a-z])[a-z\d-]{14,20}$/i;

/** A cell freed from what spreadsheets and our own rejected.csv put around text: `'WVW…` and `="WVW…"`. */
export function stripTextMarks(cell: string): string {
  const text = cell.startsWith("'") ? cell.slice(1) : cell;
  return text.startsWith('="') && text.endsWith('"') ? text.slice(2, -1) : text;
}
