import { csvCell } from '../csv-line.ts';
import { isoAt } from '../sql/iso-time.ts';
import type { Row, RowWriter } from '../sql/json-page.ts';

const DELIMITER = ',';

/** How a value is made of a column: most are codes of our own, which need no quotes and are no formulas. */
interface Column {
  sql: string;
  write(value: unknown): string;
}

const code = (column: string): Column => ({ sql: column, write: (value) => (value as string | null) ?? '' });
const time = (column: string): Column => ({
  sql: `date_part('epoch', ${column})`,
  write: (seconds) => (seconds === null ? '' : isoAt(seconds as number)),
});

/** Texts that stand in many rows; each is written once. */
const MOST_KNOWN = 1000;
const known = new Map<unknown, string>();
function writeText(value: unknown): string {
  const before = known.get(value);
  if (before !== undefined) return before;
  const written = csvCell((value as string | null) ?? '', DELIMITER);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(value, written);
  return written;
}
const text = (column: string): Column => ({ sql: column, write: writeText });

const ELIGIBLE: Readonly<Record<string, string>> = { ELIGIBLE: 'true', INELIGIBLE: 'false' };

/** The columns of a vehicle `v`, in their order. Programs know them by their names, which never change. */
const columns: Readonly<Record<string, Column>> = {
  vin: code('v.vin'),
  fleet_id: code('v.fleet_id'),
  fleet_name: text('(select f.name from fleet f where f.company = v.company and f.id = v.fleet_id)'),
  manufacturer: code('v.manufacturer'),
  status: code('v.status'),
  eligible: { sql: 'v.status', write: (status) => ELIGIBLE[status as string] ?? '' },
  reason_code: text(`v.reason->>'code'`),
  reason: text(`v.reason->>'message'`),
  actor: code(`v.reason->>'actor'`),
  verified_at: time('v.verified_at'),
  created_at: time('v.created_at'),
};

const cells = Object.values(columns).map(({ write }, at) => ({ name: `v${at}`, write }));

/** The first line of the file. */
export const vehicleCsvHeader = `${Object.keys(columns).join(DELIMITER)}\n`;

/** Writes vehicles as lines of it; no cell is a formula to any spreadsheet. */
export const vehicleCsvWriter: RowWriter = {
  columns: Object.values(columns)
    .map((column, at) => `${column.sql} as v${at}`)
    .join(', '),
  write(row: Row): string {
    let line = '';
    for (const { name, write } of cells) line += (line && DELIMITER) + write(row[name]);
    return `${line}\n`;
  },
};
