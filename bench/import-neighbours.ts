/**
 * What others notice of an upload: small reads and writes of the same fleet while a million rows go into it.
 *
 * Run:  npx node bench/import-neighbours.ts [--rows 1000000] [--seconds 20] [--pace 5] [--fsync off]
 * Read: each request is sent alone, `pace` milliseconds after the answer to the one before, first with nobody else
 * about, then during the upload, then during a load of the same rows by psql's \copy (where there is a psql). "ratio" is
 * p99 against p99 with nobody about; above 2, somebody suffers. The upload, the database and these requests share the
 * machine, so part of it is waiting for a core or the disk. What is waiting for a lock is counted: "waits" are the looks,
 * 50 a second, that found a session waiting, by what it waited for. With --fsync off nobody waits for the disk.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { copyOf, hasPsql, run, vehicleOf, writeFiles } from './import-files.ts';
import { openImportWorld } from './import-world.ts';
import { quantile } from './support/measure.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
    pace: { type: 'string', default: '5' },
    fsync: { type: 'string', default: 'on' },
  },
});
/** VINs that the upload does not have. */
const NEIGHBOURS = 1;

await using world = await openImportWorld({ fsync: options.fsync });
// Made beforehand: who measures must not be busy.
const { vins, table } = await writeFiles(world.folder, world.fleet.id, Number(options.rows));
let added = 0;
const small: Record<string, () => Promise<Response>> = {
  'GET a page of 50 vehicles': () => call('GET', `/fleets/${world.fleet.id}/vehicles?limit=50`),
  'GET an eligibility': () => call('GET', `/vehicles/eligibility/${vehicleOf(added - 1, NEIGHBOURS).vin}`),
  'PATCH the fleet': () => call('PATCH', `/fleets/${world.fleet.id}`, { vat: `DE${added}` }),
  'POST one vehicle': () =>
    call('POST', '/vehicles', { fleetId: world.fleet.id, vins: [vehicleOf(added++, NEIGHBOURS).vin] }),
};

for (let at = 0; at < 100; at++) await small['POST one vehicle']?.();
const usual = await measure(() => delay(Number(options.seconds) * 1000));
report('nobody about', usual, usual);
report('during the upload', await measure(() => world.upload(vins)), usual);
if (await hasPsql()) {
  await world.empty();
  await small['POST one vehicle']?.();
  const load = () => run('psql', [world.databaseUrl, '-q', '-v', 'ON_ERROR_STOP=1', '-c', `\\${copyOf(table)}`]);
  report('during \\copy', await measure(load), usual);
}

interface Measured {
  /** Milliseconds of each small request, by what it was. */
  times: Map<string, number[]>;
  /** How often sessions were seen waiting, by what they waited for. */
  waits: Map<string, number>;
}

/** Sends small requests for as long as the work takes. */
async function measure(work: () => Promise<unknown>): Promise<Measured> {
  const times = new Map(Object.keys(small).map((name) => [name, [] as number[]]));
  const waits = new Map<string, number>();
  let ended = false;
  const over = work().finally(() => {
    ended = true;
  });
  const looking = look(waits, () => ended);
  // Awaited below, unless a small request fails first.
  for (const one of [over, looking]) one.catch(() => {});
  while (!ended) {
    for (const [name, request] of Object.entries(small)) {
      const started = performance.now();
      const response = await request();
      if (!response.ok && response.status !== 400 && response.status !== 409)
        throw new Error(`${name}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      times.get(name)?.push(performance.now() - started);
      await delay(Number(options.pace));
    }
  }
  await Promise.all([over, looking]);
  return { times, waits };
}

async function look(waits: Map<string, number>, ended: () => boolean): Promise<void> {
  while (!ended()) {
    const { rows } = await world.database.query<{ wait: string }>(
      `select wait_event_type || '/' || wait_event as wait from pg_stat_activity
       where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and wait_event is not null`,
    );
    for (const { wait } of rows) waits.set(wait, (waits.get(wait) ?? 0) + 1);
    await delay(20);
  }
}

function report(when: string, { times, waits }: Measured, usual: Measured): void {
  console.log(`${when}   waits: ${[...waits].map(([wait, count]) => `${wait} ${count}`).join(', ') || 'none'}`);
  for (const [name, values] of times) {
    const [p50, p99, max] = [quantile(values, 0.5), quantile(values, 0.99), quantile(values, 1)];
    const ratio = p99 / quantile(usual.times.get(name) ?? [], 0.99);
    console.log(
      `  ${name.padEnd(26)} p50 ${p50.toFixed(1)}   p99 ${p99.toFixed(1)}   max ${max.toFixed(1)} ms   ratio ${ratio.toFixed(2)}   (${values.length} requests)`,
    );
  }
}

function call(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${world.url}${path}`, {
    method,
    headers: world.headers(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
