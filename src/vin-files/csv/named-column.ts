import { cutText } from '../cut-text.ts';
import { FileRejection, isOfColumn, quotedList, unreadableFileError } from '../rejection.ts';
import type { CsvHead, CsvHeadLine } from './head.ts';
import { stripTextMarks } from './vin-cells.ts';

const PREVIEWED_ROWS = 5;
const PREVIEWED_CELLS = 20;
const PREVIEWED_CHARACTERS = 100;

/** The first rows of a file, which also keeps those that a person needs to choose a column. */
export function openPreview(head: CsvHead) {
  const rows: CsvHeadLine[] = [];
  async function next(): Promise<CsvHeadLine | undefined> {
    const line = await head.next();
    if (line && rows.length < PREVIEWED_ROWS && widest(line).some((cell) => shown(cell).trim())) rows.push(line);
    return line;
  }
  /** The error with the first rows, if they help against it. */
  function shownIn(error: unknown): unknown {
    if (!isOfColumn(error)) return error;
    const preview = rows.map((line) => ({ row: line.row, cells: widest(line).slice(0, PREVIEWED_CELLS).map(shown) }));
    return new FileRejection(error.code, error.message, { ...error.details, preview });
  }
  return { head: { ...head, next }, shownIn };
}

const shown = (cell: string): string => cutText(stripTextMarks(cell), PREVIEWED_CHARACTERS);
const widest = ({ readings }: CsvHeadLine): readonly string[] =>
  readings.reduce<readonly string[]>((most, { cells }) => (cells.length > most.length ? cells : most), []);

const plain = (name: string): string => stripTextMarks(name).normalize('NFKC').trim().toLowerCase();

/** The row with this name of a column among the first `within`, with its place; throws FileRejection with the names that are there. */
export async function findNamedColumn(head: CsvHead, name: string, within: number) {
  const lines: CsvHeadLine[] = [];
  for (let line = await head.next(); line && lines.length < within; line = await head.next()) {
    const places = line.readings.map((reading) => ({
      ...reading,
      vinAt: reading.cells.findIndex((cell) => plain(cell) === plain(name)),
    }));
    const [found] = places.filter(({ vinAt }) => vinAt >= 0).toSorted((a, b) => b.cells.length - a.cells.length);
    if (found) return { ...found, line };
    lines.push(line);
  }
  const cells = lines.map(widest).reduce((most, one) => (one.length > most.length ? one : most), []);
  const there = lines.length > 0 ? `Found: ${quotedList(cells)}.` : 'It holds no rows.';
  const message = `The file has no column "${cutText(name, PREVIEWED_CHARACTERS)}". ${there}`;
  throw unreadableFileError('COLUMN_NOT_FOUND', message, { found: cells.slice(0, PREVIEWED_CELLS) });
}
