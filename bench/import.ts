/**
 * Compares an upload of VINs over HTTP with psql's \copy of the same rows into the same table, indexes and triggers.
 *
 * Run:  npx node bench/import.ts [--rows 100000,1000000] [--rounds 3] [--sorted]
 * Read: the rounds are interleaved and the machine may be shared, so the ratio within a round counts (the median is
 * shown): above 1, the upload was faster. \copy gets finished rows: ascending ids, manufacturers, and no VIN that
 * exists; the upload gets VINs alone, and validates, resolves and counts them. Both commit to a PostgreSQL that waits
 * for its disk. "peak" is the largest memory of the gateway process since its start, "CPU" its time per row. Without
 * psql on the PATH, the server's own COPY from a file replaces \copy, which is faster. VINs are unordered, or ordered
 * with --sorted.
 * A single upload of 10,000,000 rows, generated while sending:  npx node bench/import.ts --rows 10000000 --rounds 0
 */
import { parseArgs } from 'node:util';
import { copyOf, hasPsql, run, vehicleOf, writeFiles } from './import-files.ts';
import { openImportWorld } from './import-world.ts';
import { cpuMicroseconds, median, medianRatio, megabytes } from './support/measure.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000,1000000' },
    rounds: { type: 'string', default: '3' },
    sorted: { type: 'boolean', default: false },
  },
});
const CHUNK_ROWS = 4_000;

await using world = await openImportWorld();
console.log(`resident at the start: ${peak()} MB`);
const psql = await hasPsql();
const loader = psql ? '\\copy' : 'COPY (server)';
for (const rows of options.rows.split(',').map(Number)) {
  if (options.rounds === '0') await uploadOnce(rows);
  else await compare(rows, psql, loader);
}

async function compare(rows: number, psql: boolean, loader: string): Promise<void> {
  const { vins, table } = await writeFiles(world.folder, world.fleet.id, rows, options.sorted);
  const contenders = {
    [loader]: async () => {
      const copy = copyOf(table);
      if (psql) await run('psql', [world.databaseUrl, '-q', '-v', 'ON_ERROR_STOP=1', '-c', `\\${copy}`]);
      else await world.database.query(copy);
    },
    upload: async () => {
      const created = await world.upload(vins);
      if (created !== rows) throw new Error(`${created} vehicles of ${rows} were created`);
    },
  };
  const seconds = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]));
  const cpu: number[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [name, load] of Object.entries(contenders)) {
      await world.empty();
      const before = cpuMicroseconds(world.pid);
      const started = performance.now();
      await load();
      seconds.get(name)?.push((performance.now() - started) / 1000);
      if (name === 'upload') cpu.push((cpuMicroseconds(world.pid) - before) / rows);
    }
  }
  const base = seconds.get(loader) ?? [];
  for (const [name, values] of seconds) {
    const ratio = 1 / medianRatio(values, base);
    const own = name === 'upload' ? `CPU ${median(cpu).toFixed(2)} µs/row   peak ${peak()} MB` : '';
    const rate = Math.round(rows / median(values)).toLocaleString('en');
    console.log(
      `${rows.toLocaleString('en').padStart(10)}  ${name.padEnd(8)} ${rate.padStart(8)} rows/s   ratio ${ratio.toFixed(2)}   ${own}`,
    );
  }
}

async function uploadOnce(rows: number): Promise<void> {
  await world.empty();
  const before = cpuMicroseconds(world.pid);
  const started = performance.now();
  const created = await world.upload(vinLines(rows));
  const rate = Math.round((rows / (performance.now() - started)) * 1000).toLocaleString('en');
  const cpu = ((cpuMicroseconds(world.pid) - before) / rows).toFixed(2);
  console.log(
    `${rows.toLocaleString('en')}  ${created} created   ${rate} rows/s   CPU ${cpu} µs/row   peak ${peak()} MB`,
  );
}

function peak(): number {
  return Math.round(megabytes(world.pid, 'VmHWM'));
}

function* vinLines(rows: number): Generator<string> {
  yield 'vin\n';
  for (let first = 0; first < rows; first += CHUNK_ROWS) {
    const count = Math.min(CHUNK_ROWS, rows - first);
    yield Array.from({ length: count }, (_, at) => `${vehicleOf(first + at).vin}\n`).join('');
  }
}
