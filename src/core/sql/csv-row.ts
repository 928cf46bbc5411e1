import { csvCell } from '../csv-line.ts';
import { pieceRowWriter, type RowWriter } from './read.ts';
import { formatTimeJson, type JsonColumn, timeJsonSql } from './selection.ts';

const DELIMITER = ',';

const cell = (value: string | null | undefined): string => csvCell(value ?? '', DELIMITER);

/** Cells of CSV by the SQL of their values. */
export const csvColumn = {
  /** Of the gateway's own codes, which need no quotes and are no formulas: one column costs less than several. */
  codes: (...sql: readonly string[]): JsonColumn => ({
    sql: sql.map((one) => `coalesce(${one}, '')`).join(` || '${DELIMITER}' || `),
  }),
  text: (sql: string): JsonColumn => ({ sql, write: cell }),
  time: (column: string): JsonColumn => ({
    sql: timeJsonSql(column),
    write: (json) => (json === null ? '' : formatTimeJson(json).slice(1, -1)),
  }),
  /** Code, message and actor of a reason. */
  reason: (sql: string): JsonColumn => ({ sql, write: reasonCells }),
};

/** Most rows have no reason. */
function reasonCells(json: string | null): string {
  const { code, message, actor } = json === null ? {} : JSON.parse(json);
  return [cell(code), cell(message), actor ?? ''].join(DELIMITER);
}

/** The header of these columns, by their names, and a writer of lines; no cell is a formula to any spreadsheet. */
export function csvRows(columns: Readonly<Record<string, JsonColumn>>): { header: string; writer: RowWriter } {
  const pieces = Object.values(columns).map((value, at) => [at > 0 ? DELIMITER : '', value] as const);
  return { header: `${Object.keys(columns).join(DELIMITER)}\n`, writer: pieceRowWriter(pieces, '\n') };
}
