/**
 * Measures small reads and writes of a fleet while a million rows are uploaded to the same fleet.
 *
 * Run:  npx node bench/import-neighbours.ts [--rows 1000000] [--seconds 20] [--pace 5] [--fsync off]
 * Read: each request is sent alone, `pace` milliseconds after the previous response: first without other load, then
 * during the upload, then during psql's \copy of the same rows (if psql is installed). "ratio" is p99 divided by p99
 * without load; above 2, clients suffer. The upload, the database and the requests share the machine, so part of a time
 * is waiting for a core or the disk. Sessions are sampled 50 times a second: "waits" counts samples of a waiting
 * session, by the awaited event. With --fsync off no session waits for the disk.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { copyOf, hasPsql, run, vehicleOf, writeFiles } from './import-files.ts';
import { openImportWorld } from './import-world.ts';
import { report, type SmallRequests, sendDuring, type Times } from './support/neighbours.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
    pace: { type: 'string', default: '5' },
    fsync: { type: 'string', default: 'on' },
  },
});
/** A kind of VINs that the upload does not use. */
const NEIGHBOURS = 1;

await using world = await openImportWorld({ fsync: options.fsync });
// The files are written first, so that the measuring process is idle.
const { vins, table } = await writeFiles(world.folder, world.fleet.id, Number(options.rows));
let added = 0;
const small: SmallRequests = {
  'GET a page of 50 vehicles': () => call('GET', `/fleets/${world.fleet.id}/vehicles?limit=50`),
  'GET an eligibility': () => call('GET', `/vehicles/eligibility/${vehicleOf(added - 1, NEIGHBOURS).vin}`),
  'PATCH the fleet': () => call('PATCH', `/fleets/${world.fleet.id}`, { vat: `DE${added}` }),
  'POST one vehicle': () =>
    call('POST', '/vehicles', { fleetId: world.fleet.id, vins: [vehicleOf(added++, NEIGHBOURS).vin] }),
};

for (let at = 0; at < 100; at++) await small['POST one vehicle']?.();
const usual = await measure('without other load', () => delay(Number(options.seconds) * 1000));
await measure('during the upload', () => world.upload(vins), usual);
if (await hasPsql()) {
  await world.empty();
  await small['POST one vehicle']?.();
  const load = () => run('psql', [world.databaseUrl, '-q', '-v', 'ON_ERROR_STOP=1', '-c', `\\${copyOf(table)}`]);
  await measure('during \\copy', load, usual);
}

/** Sends small requests while `work` runs; reports their times and the sampled wait events. */
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
