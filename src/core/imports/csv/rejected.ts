import { BYTE_ORDER_MARK, csvLine } from '../../csv-line.ts';
import type { Row, RowWriter } from '../../sql/read.ts';
import type { Delimiter } from './head.ts';
import { type CsvLayout, numberedColumns } from './layout.ts';

const ERROR_COLUMNS = ['error_code', 'error_message'];
const isOwn = (column: string): boolean => !ERROR_COLUMNS.includes(column);

/** The columns of a rejected row. */
const columns = ['r.value', 'r.cells::text', 'r.code', 'r.message', 'r.row'];
/** The same as a statement has them. */
export const rejectedColumns = columns.join(', ');
const [VALUE, CELLS, CODE, MESSAGE, ROW] = [0, 1, 2, 3, 4];

/** The number of a rejected row in its file. */
export const rejectedAt = (row: Row): number => Number(row[ROW]);

/** The number of the row that has the layout: before the first. */
export const LAYOUT_ROW = -1;
/** The layout of the import `import` in the columns of a rejected row. */
export const layoutColumns = `import.delimiter, to_json(import.columns)::text, '', '', ${LAYOUT_ROW} as row`;

/** The layout that a row has; null where it is a rejected one. */
export function layoutIn(row: Row): CsvLayout | null {
  if (rejectedAt(row) !== LAYOUT_ROW) return null;
  return { delimiter: row[VALUE] as Delimiter, columns: JSON.parse(row[CELLS] ?? 'null') };
}

/** The columns of a report; where the file has no header, as many as its first row has cells. */
export const columnsOf = ({ columns }: CsvLayout, first: Row | undefined): string[] =>
  columns ?? numberedColumns(first ? cellsOf(first).length : 1);

/** A row of a list of VINs has no cells, but a value alone. */
const cellsOf = (row: Row): string[] => (row[CELLS] == null ? [row[VALUE] ?? ''] : JSON.parse(row[CELLS]));

/** The first line of a report, behind a byte order mark. */
export const rejectedHeader = (columns: readonly string[], delimiter: string): string =>
  BYTE_ORDER_MARK + csvLine([...columns.filter(isOwn), ...ERROR_COLUMNS], delimiter);

/**
 * Writes rejected rows as CSV lines in the layout of the file they came from, error_code and error_message behind its
 * columns, so that the rows can be mended in place and uploaded again. A file that was once such a report has error columns;
 * the new ones take their place. Cells more than the header has follow the error columns, which so stay below their names.
 */
export function rejectedWriter(names: readonly string[], delimiter: string): RowWriter {
  const own = names.flatMap((name, at) => (isOwn(name) ? [at] : []));
  return {
    columns,
    select: rejectedColumns,
    isArray: false,
    write(row) {
      const cells = cellsOf(row);
      const errors = [row[CODE] ?? '', row[MESSAGE] ?? ''];
      return csvLine([...own.map((at) => cells[at] ?? ''), ...errors, ...cells.slice(names.length)], delimiter);
    },
  };
}
