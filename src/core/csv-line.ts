import type { WriteValue } from './sql/row-values.ts';

/** By it spreadsheets tell that the file is UTF-8. */
export const BYTE_ORDER_MARK = '\ufeff';
/**
 * Places before what spreadsheets run as a formula: at the beginning of a cell, and behind whatever separates cells for
 * somebody, since who opens the file may split it elsewhere than its writer, also within quotes.
 */
const BEFORE_FORMULA = /^(?=[\t\r\n])|(?<=^|[,;\t|\r\n])(?=(?:[^\S\t\r\n]|")*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** A line of CSV, in which no cell is a formula to any spreadsheet. */
export const csvLine = (cells: readonly string[], delimiter: string): string =>
  `${cells.map((cell) => csvCell(cell, delimiter)).join(delimiter)}\n`;

/** One cell of it. */
function csvCell(cell: string, delimiter: string): string {
  const text = cell.replace(BEFORE_FORMULA, "'");
  return /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What stands in a cell as it is, whatever separates cells and whoever opens the file; by bytes. */
const harmless = new Uint8Array(256);
for (const byte of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._()/:'"))
  harmless[byte] = 1;

/** Writes a text of a row as a cell. */
export const cellWriter =
  (delimiter: string): WriteValue =>
  (out, row, start, end) => {
    for (let at = start; at < end; at++) {
      if (!harmless[row[at] as number]) return out.text(csvCell(row.toString('utf8', start, end), delimiter));
    }
    out.copy(row, start, end);
  };
