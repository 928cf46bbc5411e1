import { BYTE_ORDER_MARK, csvLine as line } from '../../csv-line.ts';
import { type CsvLayout, numberedColumns } from './layout.ts';

/** A row that was not taken: its cells (null: `value` alone) and why, in code and words. */
export interface RejectedRow {
  value: string;
  cells: readonly string[] | null;
  code: string;
  message: string;
}

const ERROR_COLUMNS = ['error_code', 'error_message'];

/**
 * Writes rejected rows as CSV lines in the layout of the file they came from, error_code and error_message behind its
 * columns, so that the rows can be mended in place and uploaded again. A file without a header is given one. The text begins
 * with a byte order mark.
 * Cells more than the header has follow the error columns, which so stay below their names.
 */
export async function* rejectedCsv(
  layout: CsvLayout,
  rows: AsyncIterable<RejectedRow> | Iterable<RejectedRow>,
): AsyncGenerator<string, void> {
  const { delimiter } = layout;
  let { columns } = layout;
  let headed = false;
  for await (const { value, cells, code, message } of rows) {
    const own = cells ?? [value];
    columns ??= numberedColumns(own.length);
    if (!headed) yield BYTE_ORDER_MARK + headerLine(columns, delimiter);
    headed = true;
    const inColumns = columns.map((_, at) => own[at] ?? '').filter(isNoErrorIn(columns));
    yield line([...inColumns, code, message, ...own.slice(columns.length)], delimiter);
  }
  if (!headed) yield BYTE_ORDER_MARK + headerLine(columns ?? numberedColumns(1), delimiter);
}

function headerLine(columns: readonly string[], delimiter: string): string {
  return line([...columns.filter(isNoErrorIn(columns)), ...ERROR_COLUMNS], delimiter);
}

/** A file that was once rejected.csv has error columns; the new ones take their place. */
function isNoErrorIn(columns: readonly string[]): (_: unknown, at: number) => boolean {
  return (_, at) => !ERROR_COLUMNS.includes(columns[at] ?? '');
}
