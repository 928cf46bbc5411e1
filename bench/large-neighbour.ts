/**
 * Measures the small requests of a company while a large company, in the same process, has 5,000 vehicles to verify,
 * 100 webhooks whose receiver never answers, and an upload of a million rows.
 *
 * Run:  npx node bench/large-neighbour.ts
 *         [--rows 1000000] [--seconds 20] [--pace 10] [--load import,webhooks,vehicles] [--cores]
 * Read: each request is sent alone, `pace` milliseconds after the previous response: first without other load, then
 * beside the large company's `load`. "ratio" is p99 divided by p99 without load; above 3, the small company suffers.
 * The large company's process has low priority. With --cores the gateway has one core, other processes the other
 * (Linux).
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { childrenOf } from '../test/support/postgres-server.ts';
import { scheduleAll } from '../test/support/schedule.ts';
import { writeFiles } from './import-files.ts';
import { COMPANY, openImportWorld } from './import-world.ts';
import type { LargeCompanyLoad } from './support/large-company.ts';
import { postmasterOf } from './support/measure.ts';
import { openSmallCompany } from './support/small-company.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
    pace: { type: 'string', default: '10' },
    load: { type: 'string', default: 'import,webhooks,vehicles' },
    cores: { type: 'boolean', default: false },
  },
});
const load = new Set(options.load.split(','));
const DUE = 5000;
const WEBHOOKS = 100;

const large = fork(new URL('support/large-company.ts', import.meta.url));
const [{ upstream }] = await once(large, 'message');
await using world = await openImportWorld({
  settings: {
    WORKERS: 'on',
    HIGH_MOBILITY_URL: upstream,
    HIGH_MOBILITY_CLIENT_ID: 'client',
    HIGH_MOBILITY_CLIENT_SECRET: 'secret',
    WEBHOOK_LOOPBACK: 'on',
    LIMIT_WEBHOOKS: String(WEBHOOKS),
  },
});
if (options.cores) {
  const server = postmasterOf(world.data);
  for (const pid of [server, ...childrenOf(server), process.pid, large.pid]) pin(pid, 0);
  pin(world.pid, 1);
}
const small = await openSmallCompany(world, Number(options.pace));
const { vins } = await writeFiles(world.folder, world.fleet.id, Number(options.rows));
const seconds = Number(options.seconds);
const alone = await small.during('without other load', seconds);
await small.during('beside the large company', busy, alone);
large.disconnect();

/** Runs the large company's load until its upload ends, or for `seconds` without an upload. */
async function busy(): Promise<void> {
  const ready = once(large, 'message');
  large.send({
    url: world.url,
    headers: world.headersOf(COMPANY),
    webhooks: load.has('webhooks') ? WEBHOOKS : 0,
    fleetId: world.fleet.id,
    file: load.has('import') ? vins : null,
  } satisfies LargeCompanyLoad);
  await ready;
  const uploaded = load.has('import') ? once(large, 'message') : delay(seconds * 1000);
  if (load.has('vehicles')) {
    await world.database.query(
      `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
       select gen_random_uuid(), $1, $2, 'WBA9' || lpad(n::text, 13, '0'), 'bmw', now(), now() from generate_series(1, ${DUE}) n`,
      [COMPANY, world.fleet.id],
    );
    await world.database.query(`${scheduleAll}; notify due, 'vehicle'`);
  }
  await uploaded;
}

function pin(pid: number | undefined, core: number): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], { stdio: 'ignore' });
}
