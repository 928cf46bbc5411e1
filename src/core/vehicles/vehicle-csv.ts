import { csvCell } from '../csv-line.ts';
import { pieceRowWriter } from '../sql/read.ts';
import { formatTimeJson, type JsonColumn, timeJsonSql } from '../sql/selection.ts';
import { ELIGIBLE_BY_STATUS } from './vehicles.ts';

const DELIMITER = ',';
const eligible: Readonly<Record<string, string>> = ELIGIBLE_BY_STATUS;

/** The gateway's own codes need no quotes and are no formulas. */
const code = (sql: string): JsonColumn => ({ sql, write: (value) => value ?? '' });
const text = (sql: string): JsonColumn => ({ sql, write: (value) => csvCell(value ?? '', DELIMITER) });
const time = (column: string): JsonColumn => ({
  sql: timeJsonSql(column),
  write: (json) => (json === null ? '' : formatTimeJson(json).slice(1, -1)),
});

/** The columns of a vehicle `v`, in their order. Programs know them by their names, which never change. */
const columns: Readonly<Record<string, JsonColumn>> = {
  vin: code('v.vin'),
  fleet_id: code('v.fleet_id'),
  fleet_name: text('(select f.name from fleet f where f.company = v.company and f.id = v.fleet_id)'),
  manufacturer: code('v.manufacturer'),
  status: code('v.status'),
  eligible: { sql: 'v.status', write: (status) => eligible[status as string] ?? '' },
  reason_code: text(`v.reason->>'code'`),
  reason: text(`v.reason->>'message'`),
  actor: code(`v.reason->>'actor'`),
  verified_at: time('v.verified_at'),
  created_at: time('v.created_at'),
};

export const vehicleCsvHeader = `${Object.keys(columns).join(DELIMITER)}\n`;

/** Writes vehicles as lines of it; no cell is a formula to any spreadsheet. */
export const vehicleCsvWriter = pieceRowWriter(
  Object.values(columns).map((value, at) => [at > 0 ? DELIMITER : '', value]),
  '\n',
);
