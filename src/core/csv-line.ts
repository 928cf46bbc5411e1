/** Marks a file as UTF-8 for spreadsheets. */
export const BYTE_ORDER_MARK = '\ufeff';
/** Places where spreadsheets begin a formula: at the beginning, and after any separator, also within quotes. */
const BEFORE_FORMULA = /^(?=[\t\r\n])|(?<=^|[,;\t|\r\n])(?=(?:[^\S\t\r\n]|")*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** A line of CSV, in which no cell is a formula to any spreadsheet. */
export const csvLine = (cells: readonly string[], delimiter: string): string =>
  `${cells.map((cell) => csvCell(cell, delimiter)).join(delimiter)}\n`;

/** A cell of these characters alone needs no quotes and is no formula, whatever separates cells. */
const HARMLESS = /^[\w .()/:']*$/;

export function csvCell(cell: string, delimiter: string): string {
  if (HARMLESS.test(cell)) return cell;
  const text = cell.replace(BEFORE_FORMULA, "'");
  return /["\r\n]/.test(text) || text.includes(delimiter) ? `"${text.replaceAll('"', '""')}"` : text;
}
