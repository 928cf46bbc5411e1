import { csvCell } from '../csv-line.ts';
import { pieceRowWriter } from '../sql/read.ts';
import { formatTimeJson, type JsonColumn, timeJsonSql } from '../sql/selection.ts';
import { ELIGIBLE_BY_STATUS } from './vehicles.ts';

const DELIMITER = ',';

const cell = (value: string | null | undefined): string => csvCell(value ?? '', DELIMITER);

/** Cells of the gateway's own codes, which need no quotes and are no formulas: one column costs less than several. */
const codes = (...sql: readonly string[]): JsonColumn => ({
  sql: sql.map((one) => `coalesce(${one}, '')`).join(` || '${DELIMITER}' || `),
});
const time = (column: string): JsonColumn => ({
  sql: timeJsonSql(column),
  write: (json) => (json === null ? '' : formatTimeJson(json).slice(1, -1)),
});
const eligible = Object.entries(ELIGIBLE_BY_STATUS).map(([status, text]) => `when '${status}' then '${text}'`);

/** Most vehicles have no reason. */
function reasonCells(json: string | null): string {
  const { code, message, actor } = json === null ? {} : JSON.parse(json);
  return [cell(code), cell(message), actor ?? ''].join(DELIMITER);
}

/** The cells of a vehicle `v` in their order. Programs know them by their names, which never change. */
const columns: Readonly<Record<string, JsonColumn>> = {
  'vin,fleet_id': codes('v.vin', 'v.fleet_id::text'),
  fleet_name: {
    // Without the condition on its deletion, PostgreSQL reads all names of the company from an index, for each vehicle.
    sql: '(select f.name from fleet f where f.company = v.company and f.id = v.fleet_id and f.deletion is null)',
    write: cell,
  },
  'manufacturer,status,eligible': codes('v.manufacturer', 'v.status', `case v.status ${eligible.join(' ')} end`),
  'reason_code,reason,actor': { sql: 'v.reason', write: reasonCells },
  verified_at: time('v.verified_at'),
  created_at: time('v.created_at'),
};

export const vehicleCsvHeader = `${Object.keys(columns).join(DELIMITER)}\n`;

/** Writes vehicles as lines of it; no cell is a formula to any spreadsheet. */
export const vehicleCsvWriter = pieceRowWriter(
  Object.values(columns).map((value, at) => [at > 0 ? DELIMITER : '', value]),
  '\n',
);
