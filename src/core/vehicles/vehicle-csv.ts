import { cellWriter } from '../csv-line.ts';
import { time as iso, oneOf, orNull, plain, type RowValue, uuid } from '../sql/row-values.ts';
import { pieceWriter, type RowWriter } from '../sql/row-writer.ts';
import { ELIGIBLE } from './vehicles.ts';

const DELIMITER = ',';
const EMPTY = Buffer.alloc(0);

/** Most are codes of our own, which need no quotes and are no formulas. */
const code = (sql: string): RowValue => ({ sql, write: plain });
const text = (sql: string): RowValue => ({ sql, write: cellWriter(DELIMITER) });
const time = (sql: string): RowValue => ({ sql, write: orNull(iso, EMPTY) });

/** The columns of a vehicle `v`, in their order. Programs know them by their names, which never change. */
const columns: Readonly<Record<string, RowValue>> = {
  vin: code('v.vin'),
  fleet_id: { sql: 'v.fleet_id', write: uuid },
  fleet_name: text('(select f.name from fleet f where f.company = v.company and f.id = v.fleet_id)'),
  manufacturer: code('v.manufacturer'),
  status: code('v.status'),
  eligible: { sql: 'v.status', write: oneOf(ELIGIBLE, '') },
  reason_code: text(`v.reason->>'code'`),
  reason: text(`v.reason->>'message'`),
  actor: code(`v.reason->>'actor'`),
  verified_at: time('v.verified_at'),
  created_at: time('v.created_at'),
};

/** The first line of the file. */
export const vehicleCsvHeader = `${Object.keys(columns).join(DELIMITER)}\n`;

/** Writes vehicles as lines of it; no cell is a formula to any spreadsheet. */
export const vehicleCsvWriter: RowWriter = {
  ...pieceWriter(
    Object.values(columns).map((value, at) => [at > 0 ? DELIMITER : '', value]),
    '\n',
  ),
  isArray: false,
};
