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
import { report, type Small, sendDuring, type Times } from './support/neighbours.ts';

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
const small: Small = {
  'GET a page of 50 vehicles': () => call('GET', `/fleets/${world.fleet.id}/vehicles?limit=50`),
  'GET an eligibility': () => call('GET', `/vehicles/eligibility/${vehicleOf(added - 1, NEIGHBOURS).vin}`),
  'PATCH the fleet': () => call('PATCH', `/fleets/${world.fleet.id}`, { vat: `DE${added}` }),
  'POST one vehicle': () =>
    call('POST', '/vehicles', { fleetId: world.fleet.id, vins: [vehicleOf(added++, NEIGHBOURS).vin] }),
};

for (let at = 0; at < 100; at++) await small['POST one vehicle']?.();
const usual = await measure('nobody about', () => delay(Number(options.seconds) * 1000));
await measure('during the upload', () => world.upload(vins), usual);
if (await hasPsql()) {
  await world.empty();
  await small['POST one vehicle']?.();
  const load = () => run('psql', [world.databaseUrl, '-q', '-v', 'ON_ERROR_STOP=1', '-c', `\\${copyOf(table)}`]);
  await measure('during \\copy', load, usual);
}

/** Sends small requests for as long as the work takes, reports their times and what sessions were seen waiting for. */
async function measure(when: string, work: () => Promise<unknown>, usual?: Times): Promise<Times> {
  const waits = new Map<string, number>();
  let ended = false;
  const looking = look(waits, () => ended);
  looking.catch(() => {});
  const times = await sendDuring(work, small, Number(options.pace)).finally(() => {
    ended = true;
  });
  await looking;
  const seen = [...waits].map(([wait, count]) => `${wait} ${count}`).join(', ') || 'none';
  report(`${when}   waits: ${seen}`, times, usual ?? times);
  return times;
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

function call(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${world.url}${path}`, {
    method,
    headers: world.headers(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
