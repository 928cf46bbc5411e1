/**
 * Measures the small requests of a company while a large company repeats one of the most expensive permitted requests.
 *
 * Run:  npx node bench/worst-neighbour.ts [--seconds 10] [--pace 10] [--connections 16] [--only contracts,activity] [--before folder]
 * Read: each small request is sent alone, `pace` milliseconds after the previous response (a person's is 1500): first
 * without other load, then beside each expensive request in turn. "ratio" is p99 divided by p99 without load; above 3,
 * the small company suffers. A refused small request ends the bench. The large company's clients run in a process of
 * low priority. `--before` names the folder of another state of the project, whose gateway is measured in turn with
 * this one.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { eventTypes } from '../src/core/events/event-data.ts';
import { twentyFleets } from './documents.ts';
import { COMPANY, seed } from './seed.ts';
import type { Attack } from './support/attacker.ts';
import { report, type SmallRequests, sendDuring, type Times } from './support/neighbours.ts';
import { migrate, openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    pace: { type: 'string', default: '10' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: '' },
    before: { type: 'string' },
  },
});
const seconds = Number(options.seconds);
const FIELDS = { name: 'Small', companyAddress: 'There 2', email: 'a@beside.example', vat: 'DE2' };

await using world = await openWorld();
migrate(world.url);
const made = await seed(world.admin, 100_000);
await world.sql(
  `insert into activity (company, fleet_id, hour, type, events, vehicles)
   select $1, $2, date_trunc('hour', now()) - n * interval '1 hour', type, 3, 30 from generate_series(0, 1000) n, unnest($3::text[]) type`,
  [COMPANY, made.fleetOf100, eventTypes],
);
await world.sql(
  `insert into history (company, key, position, type, fleet_id, actor, first_at, last_at, events, vehicles, pending, eligible, ineligible, unsupported, failed)
   select $1, new_uuid(), n, 'eligibility.changed', $2, 'system', now() - n * interval '1 hour', now() - n * interval '1 hour', 3, 30, 1, 20, 5, 2, 2
   from generate_series(1, 5000) n`,
  [COMPANY, made.fleetOf100],
);
await world.sql('vacuum analyze activity, history');
const own = await world.gateway();
const gateways: Record<string, string> = { now: own.url };
if (options.before) {
  const [preload, main] = ['preload.js', 'main.ts'].map((name) => `${options.before}/src/${name}`) as [string, string];
  const settings = { ...world.identity, DATABASE_URL: world.url, DATA_DIR: world.folder, SANDBOX: 'on' };
  const flags = ['--expose-gc', '--max-semi-space-size=16', '--import', preload];
  gateways.before = (await world.process([...flags, main], settings)).url;
}
const attacker = fork(new URL('support/attacker.ts', import.meta.url));

const headers = world.headers(COMPANY);
const get = (path: string) => ({ method: 'GET' as const, path, headers });
const graphql = (query: string) => ({
  method: 'POST' as const,
  path: '/graphql',
  headers,
  body: JSON.stringify({ query }),
});
/** As many hours as GraphQL's limit of cost allows. */
const from = new Date(Date.now() - 935 * 3_600_000).toISOString();
const dear = {
  'all contracts': get(`/contracts?${new URLSearchParams({ conditions: JSON.stringify({ company: COMPANY }) })}`),
  'a fleet of 100,000 as JSON': get(`/fleets/${made.fleetOf100000}/vehicles`),
  'a fleet of 100,000 as CSV': {
    ...get(`/fleets/${made.fleetOf100000}/vehicles`),
    headers: { ...headers, accept: 'text/csv' },
  },
  'a fleet of 1,000 as JSON': get(`/fleets/${made.fleetOf1000}/vehicles`),
  'twenty fleets with 20 vehicles': graphql(twentyFleets()),
  'a filter that nothing meets': get('/vehicles?manufacturer=zzz&verifiedBefore=2999-01-01T00:00:00Z&sort=-verifiedAt'),
  'a search for what is nowhere': get('/search?q=zzz'),
  'a page of 1,000 with what hangs on each': graphql(
    '{ vehicles(first: 1000) { nodes { vin fleet { name vehicleCount } contracts { totalCount } timeline(first: 5) { nodes { id data { __typename } } } } } }',
  ),
  'five pages and counts of a filter': graphql(
    `{ ${Array.from({ length: 5 }, (_, at) => `a${at}: vehicles(first: 1, filter: { manufacturer: "zzz${at}" }) { totalCount nodes { id } }`).join(' ')} }`,
  ),
  'activity of 936 hours': get(`/company/activity?by=HOUR&from=${from}`),
  'activity of 936 hours by GraphQL': graphql(
    `{ company { activity(from: "${from}", by: HOUR) { from type count vehicleCount } } }`,
  ),
  'history of 1,000': get('/history?limit=1000'),
  'history of 1,000 by GraphQL': graphql(
    '{ history(first: 1000) { nodes { id type from to count vehicleCount statuses { eligible failed } } } }',
  ),
  'the smallest page': get('/fleets?limit=1'),
  'the smallest document': graphql('{ company { id } }'),
  'the smallest change': { ...get('/fleets'), method: 'POST' as const, body: JSON.stringify(FIELDS) },
  introspection: graphql('{ __schema { types { name fields { name type { name ofType { name } } } } } }'),
  'additions of 1,000 VINs that are there': {
    ...get('/vehicles'),
    method: 'POST' as const,
    body: JSON.stringify({
      fleetId: made.fleetOf1000,
      vins: (
        await world.sql('select vin from vehicle where company = $1 and fleet_id = $2', [COMPANY, made.fleetOf1000])
      ).map(({ vin }) => vin),
    }),
  },
};

const clients = new Map<string, SmallRequests>();
for (const [name, url] of Object.entries(gateways)) clients.set(name, await openSmall(url, `beside-${name}`));

for (const small of clients.values()) await sendDuring(() => delay(2000), small, 1);
const alone = new Map<string, Times>();
for (const [name, small] of clients) {
  const times = await sendDuring(() => delay(seconds * 1000), small, Number(options.pace));
  report(`${name}, without other load`, times, times);
  alone.set(name, times);
}
const only = options.only.split(',');
for (const [what, request] of Object.entries(dear).filter(([name]) => only.some((part) => name.includes(part)))) {
  for (const [name, small] of clients) {
    const attack = async () => {
      const sent = { url: gateways[name] ?? '', request, connections: Number(options.connections), seconds };
      attacker.send(sent satisfies Attack);
      const [{ p50, counts }] = await once(attacker, 'message');
      console.log(`\n${what}: ${counts}, p50 ${p50} ms`);
    };
    const times = await sendDuring(attack, small, Number(options.pace));
    report(`${name}, beside it`, times, alone.get(name) ?? times);
  }
}
attacker.disconnect();

/** The small requests to a gateway, of a company with one fleet. */
async function openSmall(url: string, company: string): Promise<SmallRequests> {
  const headers = world.headers(company);
  const call = (method: string, path: string, body?: unknown) =>
    fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const fleet = (await (await call('POST', '/fleets', FIELDS)).json()) as { id: string };
  let added = 0;
  return {
    'GET a page of 50 vehicles': () => call('GET', `/fleets/${fleet.id}/vehicles?limit=50`),
    'a nested document': () =>
      call('POST', '/graphql', {
        query: '{ fleets { nodes { name vehicles(first: 5) { totalCount nodes { vin } } } } }',
      }),
    'PATCH the fleet': () => call('PATCH', `/fleets/${fleet.id}`, { vat: `DE${added}` }),
    'POST one vehicle': () => {
      added += 1;
      return call('POST', '/vehicles', { fleetId: fleet.id, vins: [`ZFA${String(added).padStart(14, '0')}`] });
    },
  };
}
