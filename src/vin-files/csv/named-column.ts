import { cutText } from '../../core/cut-text.ts';
import { ColumnNotFound, DomainError, ValidationFailed } from '../../core/errors.ts';
import type { CsvHead, CsvHeadLine } from './head.ts';
import { columnErrorCodes, quotedList } from './limits.ts';
import { stripTextMarks } from './vin-cells.ts';

const PREVIEWED_ROWS = 5;
const PREVIEWED_CELLS = 20;
const PREVIEWED_CHARACTERS = 100;

/** The first rows of a file, which also keeps those that a person needs to choose a column. */
export function openPreview(head: CsvHead) {
  const rows: CsvHeadLine[] = [];
  async function next(): Promise<CsvHeadLine | undefined> {
    const line = await head.next();
    if (line && rows.length < PREVIEWED_ROWS) rows.push(line);
    return line;
  }
  /** The error with the first rows, if they help against it. */
  function shownIn(error: unknown): unknown {
    const isOfColumn = columnErrorCodes.some(
      (code) => error instanceof DomainError && error.errors?.[0]?.code === code,
    );
    if (!(error instanceof DomainError) || !isOfColumn) return error;
    const preview = rows.map((line) => ({ row: line.row, cells: widest(line).slice(0, PREVIEWED_CELLS).map(shown) }));
    const details = { ...error.details, preview };
    return error instanceof ColumnNotFound
      ? new ColumnNotFound(error.message, details)
      : new ValidationFailed(error.errors ?? [], error.message, details);
  }
  return { head: { ...head, next }, shownIn };
}

const shown = (cell: string): string => cutText(stripTextMarks(cell), PREVIEWED_CHARACTERS);
const widest = ({ readings }: CsvHeadLine): readonly string[] =>
  readings.reduce<readonly string[]>((most, { cells }) => (cells.length > most.length ? cells : most), []);

const plain = (name: string): string => stripTextMarks(name).normalize('NFKC').trim().toLowerCase();

/** The row with this name of a column among the first `within`, with its place; throws ColumnNotFound with the names that are there. */
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
  throw new ColumnNotFound(`The file has no column "${cutText(name, PREVIEWED_CHARACTERS)}". ${there}`, {
    found: cells.slice(0, PREVIEWED_CELLS),
  });
}
