/**
 * Measures the deletion of a large fleet: the time of the response, how long the rows stay, what deleting them costs,
 * and what another company notices meanwhile.
 *
 * Run:  npx node bench/large-deletion.ts [--rows 1000000] [--seconds 10] [--pace 10]
 * Read: the time of the response; the time to add one of the fleet's VINs again; the time until the last row is
 * deleted, with the bytes of PostgreSQL's WAL and the peak of the gateway's memory; small requests of another company
 * before and during the deletion, as in large-neighbour.ts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { vehicleOf, writeFiles } from './import-files.ts';
import { openImportWorld } from './import-world.ts';
import { megabytes } from './support/measure.ts';
import { openSmallCompany } from './support/small-company.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '10' },
    pace: { type: 'string', default: '10' },
  },
});
const rows = Number(options.rows);

// No provider serves these vehicles, so only the deletion is measured.
await using world = await openImportWorld({
  settings: { WORKERS: 'on', HIGH_MOBILITY_BRANDS: 'lexus', ...provider() },
});
const small = await openSmallCompany(world, Number(options.pace));
const { vins } = await writeFiles(world.folder, world.fleet.id, rows);
console.log(`${await world.upload(vins)} vehicles`);
await world.database.query('checkpoint');
const alone = await small.during('without other load', Number(options.seconds));
const log = async (): Promise<number> =>
  Number((await one<{ lsn: string }>("select pg_current_wal_lsn() - '0/0' as lsn")).lsn);
const before = await log();
await small.during('while it is deleted', deleted, alone);
console.log(
  `log ${Math.round(((await log()) - before) / 1e6)} MB, peak of the gateway ${megabytes(world.pid, 'VmHWM').toFixed(0)} MB`,
);

async function deleted(): Promise<void> {
  const began = performance.now();
  const say = (what: string) => console.log(`${((performance.now() - began) / 1000).toFixed(2)} s: ${what}`);
  say(`answered with ${(await call('DELETE', `/fleets/${world.fleet.id}`)).status}`);
  const fields = { name: 'Next', companyAddress: 'Here 1', email: 'fleet@acme.example', vat: 'DE1' };
  const next = (await (await call('POST', '/fleets', fields)).json()) as { id: string };
  const again = [vehicleOf(0).vin, vehicleOf(rows - 1).vin];
  say('a new fleet');
  say(`VINs anew: ${(await call('POST', '/vehicles', { fleetId: next.id, vins: again })).status}`);
  for (let told = 0; ; await delay(200)) {
    const { there, left } = await one<{ there: boolean; left: number }>(
      `select exists (select from fleet where id = '${world.fleet.id}') as there,
        (select reltuples::float8 from pg_class where relname = 'vehicle') as left`,
    );
    if (!there) break;
    if (performance.now() - began > (told + 1) * 10_000) say(`the planner thinks of ${left} vehicles (${++told})`);
  }
  say('gone');
}

async function one<Row>(statement: string): Promise<Row> {
  return (await world.database.query(statement)).rows[0];
}

function call(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${world.url}${path}`, {
    method,
    headers: world.headers(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** Settings of a provider that serves none of the vehicles. */
function provider(): NodeJS.ProcessEnv {
  return {
    HIGH_MOBILITY_URL: 'http://127.0.0.1:9',
    HIGH_MOBILITY_CLIENT_ID: 'client',
    HIGH_MOBILITY_CLIENT_SECRET: 'secret',
  };
}
