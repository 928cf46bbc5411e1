import { BYTE_ORDER_MARK, cellWriter, csvLine as line } from '../../csv-line.ts';
import { plain, type WriteValue } from '../../sql/row-values.ts';
import type { Row, RowWriter } from '../../sql/row-writer.ts';
import type { Utf8 } from '../../sql/utf8.ts';
import { type CsvLayout, type Delimiter, numberedColumns } from './layout.ts';

const ERROR_COLUMNS = ['error_code', 'error_message'];
const isOwn = (column: string): boolean => !ERROR_COLUMNS.includes(column);

/** What is read of a rejected row. */
const columns = ['r.value', 'r.cells::text', 'r.code', 'r.message', 'r.row'];
/** As they stand in a statement. */
export const rejectedColumns = columns.join(', ');
const [VALUE, CELLS, CODE, MESSAGE, ROW] = [0, 1, 2, 3, 4];

/** The number of a rejected row in its file. */
export const rejectedAt = (row: Row): number => row.bytes.readInt32BE(row.starts[ROW]);

/** The number of the row that has the layout: before the first. */
export const LAYOUT_ROW = -1;
/** The layout of the import `import` in the columns of a rejected row. */
export const layoutColumns = `import.delimiter, to_json(import.columns)::text, '', '', ${LAYOUT_ROW} as row`;

/** The layout that a row has; null where it is a rejected one. */
export function layoutIn(row: Row): CsvLayout | null {
  if (rejectedAt(row) !== LAYOUT_ROW) return null;
  const columns = row.text(CELLS, plain);
  return { delimiter: row.text(VALUE, plain) as Delimiter, columns: columns === null ? null : JSON.parse(columns) };
}

/** The columns of a report; where the file has no header, as many as its first row has cells. */
export const columnsOf = ({ columns }: CsvLayout, first: Row | null): string[] =>
  columns ?? numberedColumns(first ? new Cells().read(first) : 1);

/** The first line of a report, behind a byte order mark. */
export const rejectedHeader = (columns: readonly string[], delimiter: string): string =>
  BYTE_ORDER_MARK + line([...columns.filter(isOwn), ...ERROR_COLUMNS], delimiter);

/**
 * Writes rejected rows as CSV lines in the layout of the file they came from, error_code and error_message behind its
 * columns, so that the rows can be mended in place and uploaded again. A file that was once such a report has error columns;
 * the new ones take their place. Cells more than the header has follow the error columns, which so stay below their names.
 */
export function rejectedWriter(names: readonly string[], delimiter: string): RowWriter {
  const own = names.flatMap((name, at) => (isOwn(name) ? [at] : []));
  const cell = cellWriter(delimiter);
  const separator = delimiter.charCodeAt(0);
  const cells = new Cells();
  return {
    columns,
    select: rejectedColumns,
    most: names.length + ERROR_COLUMNS.length,
    isArray: false,
    write(out, row) {
      const count = cells.read(row);
      for (const at of own) {
        if (at < count) cells.write(out, at, cell);
        out.byte(separator);
      }
      cell(out, row.bytes, row.starts[CODE] as number, row.ends[CODE] as number);
      out.byte(separator);
      cell(out, row.bytes, row.starts[MESSAGE] as number, row.ends[MESSAGE] as number);
      for (let at = names.length; at < count; at++) {
        out.byte(separator);
        cells.write(out, at, cell);
      }
      out.byte(LINE_FEED);
    },
  };
}

const [QUOTE, BACKSLASH, LINE_FEED] = Buffer.from('"\\\n') as unknown as [number, number, number];

/** Where the cells of a row begin and end. */
class Cells {
  #bytes: Buffer = Buffer.alloc(0);
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Takes those of a row, and gives how many they are. */
  read({ bytes, starts, ends }: Row): number {
    const [start, end] = [starts[CELLS] as number, ends[CELLS] as number];
    this.#bytes = bytes;
    if (end >= start) return this.#readJson(bytes, start, end);
    this.#starts[0] = starts[VALUE] as number;
    this.#ends[0] = ends[VALUE] as number;
    return 1;
  }

  write(out: Utf8, at: number, cell: WriteValue): void {
    cell(out, this.#bytes, this.#starts[at] as number, this.#ends[at] as number);
  }

  /** Of a JSON array of texts; they are decoded only where one has something escaped. */
  #readJson(bytes: Buffer, start: number, end: number): number {
    let count = 0;
    let inside = false;
    for (let at = start; at < end; at++) {
      const byte = bytes[at];
      if (byte === BACKSLASH) return this.#take(JSON.parse(bytes.toString('utf8', start, end)));
      if (byte !== QUOTE) continue;
      if (inside) this.#ends[count++] = at;
      else this.#starts[count] = at + 1;
      inside = !inside;
    }
    return count;
  }

  #take(cells: readonly string[]): number {
    const texts = cells.map((one) => Buffer.from(one));
    this.#bytes = Buffer.concat(texts);
    let end = 0;
    for (const [at, { length }] of texts.entries()) {
      this.#starts[at] = end;
      end += length;
      this.#ends[at] = end;
    }
    return texts.length;
  }
}
