/**
 * Rows per second of the CSV reader, by the shape of the file.
 *
 * Run:  npx node bench/csv.ts [rows = 1000000] [rounds = 5]
 * Read: the rounds are interleaved, so that a busy machine slows all shapes alike; each figure is the median. "ratio"
 * is against the plain one-column file, which needs no parser; "by fast-csv" is the plain file's ratio with one. The
 * peak resident size is of the whole run, for all shapes together.
 */
import { Readable } from 'node:stream';
import { openVinCsv, readVin } from '../src/vin-files/index.ts';
import { median } from './support/measure.ts';

const rows = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 5);
const LIMITS = { bytes: 2 ** 40, rowLength: 65_536, columns: 256, fieldLength: 32_768, rows: 2 ** 40 };
const CHUNK_ROWS = 4_000;

interface Shape {
  header: string;
  row: (vin: string, at: number) => string;
}

const PLAIN: Shape = { header: 'vin\n', row: (vin) => `${vin}\n` };
const SHAPES: Record<string, Shape> = {
  'one column': PLAIN,
  'one column, CRLF': { header: 'vin\r\n', row: (vin) => `${vin}\r\n` },
  // A quote in some rows sends the file through fast-csv.
  'one column, by fast-csv': { header: 'vin\n', row: (vin, at) => (at % 1_000 === 0 ? `"${vin}"\n` : `${vin}\n`) },
  'one column, quoted': { header: '"vin"\n', row: (vin) => `"${vin}"\n` },
  'three columns': { header: 'vin;plate;model\n', row: (vin) => `${vin};B-XY 123;Golf\n` },
};

/** Streams the file as it is generated: the same chunk of 4,000 rows over and over. */
function file(shape: Shape): Readable {
  const vins = Array.from({ length: CHUNK_ROWS }, (_, at) => `WVWZZZ1KZAW${String(at).padStart(6, '0')}`);
  const chunk = Buffer.from(vins.map(shape.row).join(''));
  function* chunks() {
    yield Buffer.from(shape.header);
    for (let made = 0; made < rows; made += CHUNK_ROWS) yield chunk;
  }
  return Readable.from(chunks());
}

async function secondsToRead(shape: Shape, check: boolean): Promise<number> {
  const started = performance.now();
  let read = 0;
  const table = await openVinCsv(file(shape), LIMITS);
  for await (const batch of table.rows) {
    for (const { value } of batch) if (!check || 'vin' in readVin(value)) read++;
  }
  if (read < rows) throw new Error(`${read} rows read of ${rows}`);
  return (performance.now() - started) / 1000;
}

const runs = new Map<string, () => Promise<number>>();
for (const [name, shape] of Object.entries(SHAPES)) runs.set(name, () => secondsToRead(shape, false));
runs.set('one column + readVin', () => secondsToRead(PLAIN, true));

const seconds = new Map<string, number[]>([...runs.keys()].map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of runs) seconds.get(name)?.push(await run());
}

const base = median(seconds.get('one column') ?? []);
console.table(
  Object.fromEntries(
    [...seconds].map(([name, values]) => [
      name,
      { 'rows/s': Math.round(rows / median(values)), ratio: (base / median(values)).toFixed(2) },
    ]),
  ),
);
console.log(`peak resident size: ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`);
