import { type CsvDelimiter, type CsvLayout, numberedColumnNames } from '../../vin-files/index.ts';
import { authorize, type Context, contextOfNewestRead } from '../context.ts';
import { BYTE_ORDER_MARK, csvLine } from '../csv-line.ts';
import { read } from '../database.ts';
import { ImportNotFound } from '../errors.ts';
import { fleetExistsSql } from '../fleets/fleet.ts';
import { type RowWriter, type TextRow, type WrittenRows, writeRows } from '../sql/read.ts';
import { isId, numberParameters } from '../sql/sql.ts';

const REJECTIONS_PAGE = 1000;

const columns = ['r.value', 'r.cells::text', 'r.code', 'r.message', 'r.row'];
const select = columns.join(', ');
const [VALUE, CELLS, CODE, MESSAGE, ROW] = [0, 1, 2, 3, 4];
/** The layout is read as a row before the first. */
const LAYOUT_ROW = -1;

const rejections = (after: string) => `select ${select} from import_rejection r
  where r.company = $company and r.import_id = $id and r.row > ${after} order by r.row limit ${REJECTIONS_PAGE + 1}`;

const { text: begin } =
  numberParameters(`select import.delimiter, to_json(import.columns)::text, '', '', ${LAYOUT_ROW} as row
  from import where import.company = $company and import.id = $id and ${fleetExistsSql('import')}
  union all (${rejections(`${LAYOUT_ROW}`)}) order by row`);

const { text: after } = numberParameters(rejections('$row'));

/** The rejected rows as a CSV in the file's own layout, with the reason beside each; throws ImportNotFound. */
export async function readRejectedCsv(
  ctx: Context,
  { importId }: { importId: string },
): Promise<{ text: string } | { pieces: AsyncIterable<string> }> {
  const company = authorize(ctx, 'fleets:read');
  const rowsOf = (statement: string, ...values: unknown[]) =>
    read(contextOfNewestRead(ctx), statement, [company, importId, ...values]);
  const [layout, ...rows] = isId(importId) ? await rowsOf(begin) : [];
  if (!layout || Number(layout[ROW]) !== LAYOUT_ROW) throw new ImportNotFound();
  const delimiter = layout[VALUE] as CsvDelimiter;
  const names = reportColumns({ columns: JSON.parse(layout[CELLS] ?? 'null') }, rows[0]);
  const writer = rejectedCsvWriter(names, delimiter);
  const first = writeRows(rows, writer, REJECTIONS_PAGE);
  first.text = rejectedCsvHeader(names, delimiter) + first.text;
  if (!first.more) return { text: first.text };
  return { pieces: pages(first, async (row) => writeRows(await rowsOf(after, row), writer, REJECTIONS_PAGE)) };
}

async function* pages(first: WrittenRows, read: (after: number) => Promise<WrittenRows>): AsyncGenerator<string> {
  yield first.text;
  for (let page = first; page.more && page.last; ) {
    page = await read(Number(page.last[ROW]));
    yield page.text;
  }
}

/** The columns of a report; without a header in the file, as many as its first row has cells. */
export const reportColumns = ({ columns }: Pick<CsvLayout, 'columns'>, first: TextRow | undefined): string[] =>
  columns ?? numberedColumnNames(first ? cellsOf(first).length : 1);

/** A row of a list of VINs has no cells, but a value alone. */
const cellsOf = (row: TextRow): string[] => (row[CELLS] == null ? [row[VALUE] ?? ''] : JSON.parse(row[CELLS]));

const ERROR_COLUMNS = ['error_code', 'error_message'];
const isOwn = (column: string): boolean => !ERROR_COLUMNS.includes(column);

export const rejectedCsvHeader = (names: readonly string[], delimiter: string): string =>
  BYTE_ORDER_MARK + csvLine([...names.filter(isOwn), ...ERROR_COLUMNS], delimiter);

/** Writes rejected rows in the layout of their file, but for an earlier report's error columns; cells without a column are last. */
export function rejectedCsvWriter(names: readonly string[], delimiter: string): RowWriter {
  const own = names.flatMap((name, at) => (isOwn(name) ? [at] : []));
  return {
    columns,
    select,
    isArray: false,
    write(row) {
      const cells = cellsOf(row);
      const errors = [row[CODE] ?? '', row[MESSAGE] ?? ''];
      return csvLine([...own.map((at) => cells[at] ?? ''), ...errors, ...cells.slice(names.length)], delimiter);
    },
  };
}
