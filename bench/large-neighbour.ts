/**
 * What a company notices of a large one on the same process: its small requests while the other has 5,000 vehicles to be verified,
 * 100 webhooks whose receiver never answers, and an upload of a million rows.
 *
 * Run:  npx node bench/large-neighbour.ts [--rows 1000000] [--seconds 20] [--pace 10]
 * Read: each request is sent alone, `pace` milliseconds after the answer to the one before, first with nobody else about, then
 * while the large company does all of this. "ratio" is p99 against p99 with nobody about; above 3, the small one suffers. All
 * share the machine, so most of it is waiting for a core or the disk.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { eligible, slow, UpstreamServer } from '../test/support/upstream.ts';
import { vehicleOf, writeFiles } from './import-files.ts';
import { COMPANY, openImportWorld } from './import-world.ts';
import { report, type Small, sendDuring } from './support/neighbours.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
    pace: { type: 'string', default: '10' },
  },
});
const DUE = 5000;
const WEBHOOKS = 100;

const upstream = await UpstreamServer.start();
upstream.always('eligibility', slow(25, eligible()));
const silent = createServer(() => {}).listen(0, '127.0.0.1');
await once(silent, 'listening');
await using world = await openImportWorld({
  settings: {
    WORKERS: 'on',
    HIGH_MOBILITY_URL: upstream.url,
    HIGH_MOBILITY_CLIENT_ID: 'client',
    HIGH_MOBILITY_CLIENT_SECRET: 'secret',
    WEBHOOK_LOOPBACK: 'on',
    LIMIT_WEBHOOKS: String(WEBHOOKS),
  },
});
const headers = world.headersOf('beside');
const fleet = await json('POST', '/fleets', {
  name: 'Small',
  companyAddress: 'There 2',
  email: 'a@beside.example',
  vat: 'DE2',
});
const { vins } = await writeFiles(world.folder, world.fleet.id, Number(options.rows));
const OWN = 2;
let added = 0;
const small: Small = {
  'GET a page of 50 vehicles': () => call('GET', `/fleets/${fleet.id}/vehicles?limit=50`),
  'GET an eligibility': () => call('GET', `/vehicles/eligibility/${vehicleOf(added - 1, OWN).vin}`),
  'PATCH the fleet': () => call('PATCH', `/fleets/${fleet.id}`, { vat: `DE${added}` }),
  'POST one vehicle': () => call('POST', '/vehicles', { fleetId: fleet.id, vins: [vehicleOf(added++, OWN).vin] }),
};

for (let at = 0; at < 100; at++) await small['POST one vehicle']?.();
const pace = Number(options.pace);
const alone = await sendDuring(() => delay(Number(options.seconds) * 1000), small, pace);
report('nobody about', alone, alone);
report('beside the large company', await sendDuring(busy, small, pace), alone);
silent.closeAllConnections();
silent.close();
await upstream.close();

/** What the large company does; over when its upload is. */
async function busy(): Promise<void> {
  const { port } = silent.address() as AddressInfo;
  const own = world.headersOf(COMPANY);
  for (let at = 0; at < WEBHOOKS; at++) await call('POST', '/webhooks', { url: `http://127.0.0.1:${port}/${at}` }, own);
  await world.database.query(
    `insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
     select gen_random_uuid(), $1, $2, 'WBA9' || lpad(n::text, 13, '0'), 'bmw', now(), now() from generate_series(1, ${DUE}) n`,
    [COMPANY, world.fleet.id],
  );
  await world.database.query(`notify due, 'vehicle'`);
  await world.upload(vins);
}

function call(method: string, path: string, body?: unknown, by = headers): Promise<Response> {
  return fetch(`${world.url}${path}`, {
    method,
    headers: by,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function json(method: string, path: string, body: unknown): Promise<{ id: string }> {
  return (await call(method, path, body)).json() as Promise<{ id: string }>;
}
