import { execFile } from 'node:child_process';
import { chmodSync, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { v7 } from 'uuid';
import { COMPANY } from './import-world.ts';

export const run = promisify(execFile);

/** Whether psql is installed. */
export const hasPsql = () =>
  run('psql', ['--version']).then(
    () => true,
    () => false,
  );

/** A statement that loads the prepared rows; psql runs it on the client after a backslash. */
export const copyOf = (table: string) =>
  `copy vehicle (id, company, fleet_id, vin, manufacturer, warnings, created_at, status, due_at) from '${table}' csv`;

/** Writes the same vehicles as an upload and as rows of the table; returns the paths of both files. */
export async function writeFiles(folder: string, fleetId: string, rows: number, sorted = false) {
  const vehicles = Array.from({ length: rows }, (_, number) => vehicleOf(number));
  if (sorted) vehicles.sort((a, b) => (a.vin < b.vin ? -1 : 1));
  const vins = join(folder, `${rows}.vins.csv`);
  const table = join(folder, `${rows}.table.csv`);
  const now = new Date().toISOString();
  await pipeline(Readable.from(vehicles.values().map(({ vin }) => `${vin}\n`)), createWriteStream(vins));
  const lineOf = ({ vin, manufacturer }: (typeof vehicles)[number]) =>
    `${v7()},${COMPANY},${fleetId},${vin},${manufacturer},{},${now},PENDING,${now}\n`;
  await pipeline(Readable.from(vehicles.values().map(lineOf)), createWriteStream(table));
  // A server under another account must be able to read the files.
  chmodSync(folder, 0o755);
  return { vins, table };
}

const LETTERS = 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789';
const MAKERS = { WVW: 'volkswagen', WBA: 'bmw', WDD: 'mercedes-benz', VF3: 'peugeot', WAU: 'audi', TMB: 'skoda' };
const WMIS = Object.keys(MAKERS) as (keyof typeof MAKERS)[];

/** The vehicle with this number: VINs are spread over their whole range, in no order, without duplicates. */
export function vehicleOf(number: number, kind = 0): { vin: string; manufacturer: string } {
  const wmi = WMIS[number % WMIS.length] ?? 'WVW';
  // Multiplying by an odd number modulo 2^32 permutes the numbers.
  let spread = Math.imul(number, 2_654_435_761) >>> 0;
  let middle = '';
  for (let at = 0; at < 7; at++) {
    middle += LETTERS[spread % 32];
    spread = Math.floor(spread / 32);
  }
  return { vin: `${wmi}${middle}${String(kind).padStart(7, '0')}`, manufacturer: MAKERS[wmi] };
}
