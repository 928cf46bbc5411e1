import { cutText } from '../cut-text.ts';
import {
  noVinColumnError,
  quotedList,
  unreadableFileError,
  unreadableRowError,
  vinColumnMissingError,
} from '../rejection.ts';
import { type CsvDelimiter, type CsvHead, type CsvHeadLine, type CsvLineReading, openCsvHead } from './head.ts';
import { vinNameWeights } from './header-names.ts';
import type { CsvLimits } from './limits.ts';
import { findNamedColumn, openPreview } from './named-column.ts';
import { cellsOf, columnsOfVins, isFilled, sampleOf } from './sample.ts';
import { doubts, headerSigns, isSure, nameSigns } from './signs.ts';
import { isFormulaError, isMeantAsVin, isNearlyVin, isVin, stripTextMarks } from './vin-cells.ts';

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
  /** The weight of one of `doubts`. */
  doubt: number;
}

const WORD = nameSigns.WORD.weight;
const { FILLED_CELL, NO_DIGITS } = headerSigns;
/** Characters that answers have of a column's name. */
const NAME_LENGTH = 100;
/** Titles and other rows above a table are at most this many. */
const HEADER_WITHIN = 20;

/**
 * Reads the first rows up to the header or, without one, the first VIN; or up to the header with the column that was named. Throws
 * FileRejection without both, with the first rows.
 */
export async function readCsvStart(
  pieces: AsyncIterator<string, void>,
  limits: CsvLimits,
  delimiter?: CsvDelimiter,
): Promise<CsvStart> {
  const { head, shownIn } = openPreview(openCsvHead(pieces, limits, delimiter));
  try {
    if (limits.column === undefined) return await findStart(head, limits);
    const named = await findNamedColumn(head, limits.column, HEADER_WITHIN);
    return belowHeader(head, { ...named, rank: 0, twins: [named.vinAt] }, limits);
  } catch (error) {
    throw shownIn(error);
  }
}

async function findStart(head: CsvHead, limits: CsvLimits): Promise<CsvStart> {
  const above: CsvHeadLine[] = [];
  let header: Header | undefined;
  for (let read = 0; read < HEADER_WITHIN; read++) {
    const line = await head.next();
    if (!line) break;
    const named = find(line, vinColumn);
    if (named && (!header || named.rank < header.rank)) header = { ...named, line };
    if (header && isSure(header.rank) && header.twins.length === 1) return belowHeader(head, header, limits);
    const vinAt = header && header.rank !== WORD ? confirmed(header, line) : undefined;
    if (header && vinAt !== undefined) return belowHeader(head, { ...header, vinAt }, limits);
    const data = findCell(line, isVin);
    if (data || above.length > 0 || !isComment(line)) above.push(line);
    if (data && !(header && isSure(header.rank)))
      return atFirstVin(head, above, { ...narrow(data, line, limits), header }, limits);
  }
  if (header && !isTitle(header, above))
    return {
      ...belowHeader(head, header, limits),
      doubt: (isSure(header.rank) ? doubts.NONE : doubts.WRONG_VINS).weight,
    };
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

/** The column of a header's name in which a row below holds a VIN. */
const confirmed = ({ twins, delimiter }: Header, line: CsvHeadLine): number | undefined =>
  twins.find((at) => isVin(cellsOf(line, delimiter)[at] ?? ''));

/** Of the rows with a text in this column the one that is most like a header (`headerSigns`). */
function headerOf(lines: readonly CsvHeadLine[], { delimiter, vinAt, cells: { length } }: Match) {
  const likeness = (line: CsvHeadLine) => {
    const cells = cellsOf(line, delimiter).slice(0, length).filter(isFilled);
    return cells.length * FILLED_CELL.weight + (cells.some(isMeantAsVin) ? 0 : NO_DIGITS.weight);
  };
  // The last one has a VIN.
  const named = lines.slice(0, -1).filter((line) => isName(cellsOf(line, delimiter)[vinAt]));
  return named.toSorted((a, b) => likeness(a) - likeness(b)).at(-1);
}

const isName = (cell = ''): boolean => isFilled(cell) && !isMeantAsVin(cell);

/** Whether a row that has the word VIN in it is above no cells that are meant as VINs. */
const isTitle = ({ rank, line, delimiter, vinAt }: Header, lines: readonly CsvHeadLine[]): boolean =>
  rank === WORD && !lines.some((one) => one.row > line.row && isMeantAsVin(cellsOf(one, delimiter)[vinAt] ?? ''));

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
  return { layout: { columns, column, delimiter }, vinAt, doubt: doubts.NONE.weight, ...head.after(header.line) };
}

function narrow(match: Match, { row }: CsvHeadLine, limits: CsvLimits): Match {
  if (match.cells.length > limits.columns) throw unreadableRowError(row, 'TOO_MANY_COLUMNS', limits.columns);
  return match;
}

/** Rows without a single VIN: a list of wrong ones, which is reported row by row, or no list of VINs at all. */
function wrongVins(lines: readonly CsvHeadLine[], first: CsvHeadLine): Match & { doubt: number } {
  for (const line of lines) {
    const nearly = findCell(line, isNearlyVin);
    if (nearly) return { ...nearly, doubt: doubts.WRONG_VINS.weight };
  }
  const readings = lines.flatMap((line) => line.readings);
  const alone = readings.every(({ cells }) => cells.length <= 1) && findCell(first, isMeantAsVin);
  if (alone) return { ...alone, doubt: doubts.DIGITS.weight };
  const widest = readings.reduce((most, one) => (one.cells.length > most.cells.length ? one : most));
  throw noVinColumnError(widest.cells);
}

/**
 * The table whose first VIN is in the last of these rows: the others are bad ones, unless one has names of columns. Then the column
 * is the one with the word VIN in its name, if it has any, or else the only one that has hardly anything else.
 */
async function atFirstVin(
  head: CsvHead,
  lines: readonly CsvHeadLine[],
  { header, ...match }: Match & { header: Header | undefined },
  limits: CsvLimits,
): Promise<CsvStart> {
  const { delimiter } = match;
  const named = header?.rank === WORD && header.delimiter === delimiter ? header : undefined;
  const word = named?.vinAt;
  const line = headerOf(lines, { ...match, vinAt: word ?? match.vinAt }) ?? named?.line;
  if (!line) return listOfVins(head, lines, match);
  const names = cellsOf(line, delimiter);
  const rows = lines.filter(({ row }) => row > line.row);
  const sample = await sampleOf(head, rows, delimiter);
  const isNamed = word !== undefined && sample.some((cells) => isVin(cells[word] ?? ''));
  const columns = isNamed ? [word] : columnsOfVins(sample);
  const [vinAt] = columns;
  if (vinAt === undefined) throw noVinColumnError(names);
  if (columns.length > 1) {
    const found = columns.map((at) => names[at] ?? '');
    throw vinColumnMissingError(`Several columns of the file hold VINs: ${quotedList(found)}.`, { found });
  }
  const start = belowHeader(head, { ...match, vinAt, cells: [...names], line }, limits);
  return { ...start, doubt: (isNamed ? doubts.NONE : doubts.UNKNOWN_NAME).weight };
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

function withoutHeader(head: CsvHead, above: readonly CsvHeadLine[], { cells, delimiter, vinAt }: Match): CsvStart {
  const named = above.find((line) => isName(cellsOf(line, delimiter)[vinAt]));
  if (named) throw noVinColumnError(cellsOf(named, delimiter));
  const columns = vinAt === 0 ? null : numberedColumnNames(cells.length, vinAt);
  return {
    layout: { columns, column: null, delimiter },
    vinAt,
    doubt: doubts.NONE.weight,
    ...head.from(above[0] as CsvHeadLine),
  };
}

export const numberedColumnNames = (count: number, vinAt = 0): string[] =>
  Array.from({ length: count }, (_, at) => (at === vinAt ? 'vin' : `column_${at + 1}`));

function vinColumn(cells: readonly string[]): Column | undefined {
  const preferences = vinNameWeights(cells.map(stripTextMarks));
  const rank = Math.min(...preferences);
  if (!Number.isFinite(rank)) return undefined;
  const twins = preferences.flatMap((preference, at) => (preference === rank ? [at] : []));
  return { vinAt: twins[0] ?? 0, rank, twins };
}
