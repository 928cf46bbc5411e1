/**
 * Measures the small requests of a company while a large company repeats one of the most expensive permitted requests.
 *
 * Run:  npx node bench/worst-neighbour.ts [--seconds 10] [--pace 10] [--connections 16] [--only contracts]
 * Read: each small request is sent alone, `pace` milliseconds after the previous response: first without other load,
 * then beside each expensive request in turn. "ratio" is p99 divided by p99 without load; above 3, the small company
 * suffers. A refused small request ends the bench. The large company's clients run in a process of low priority.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { COMPANY, seed } from './seed.ts';
import type { Attack } from './support/attacker.ts';
import { report, type SmallRequests, sendDuring } from './support/neighbours.ts';
import { migrate, openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    pace: { type: 'string', default: '10' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: '' },
  },
});
const seconds = Number(options.seconds);

await using world = await openWorld();
migrate(world.url);
const made = await seed(world.url, 100_000);
const gateway = await world.gateway();
const attacker = fork(new URL('support/attacker.ts', import.meta.url));

const headers = world.headers(COMPANY);
const get = (path: string) => ({ method: 'GET' as const, path, headers });
const graphql = (query: string) => ({
  method: 'POST' as const,
  path: '/graphql',
  headers,
  body: JSON.stringify({ query }),
});
const dear = {
  'all contracts': get(`/contracts?${new URLSearchParams({ conditions: JSON.stringify({ company: COMPANY }) })}`),
  'a fleet of 100,000 as JSON': get(`/fleets/${made.fleetOf100000}/vehicles`),
  'a fleet of 100,000 as CSV': {
    ...get(`/fleets/${made.fleetOf100000}/vehicles`),
    headers: { ...headers, accept: 'text/csv' },
  },
  'a filter that nothing meets': get('/vehicles?manufacturer=zzz&verifiedBefore=2999-01-01T00:00:00Z&sort=-verifiedAt'),
  'a search for what is nowhere': get('/search?q=zzz'),
  'a page of 1,000 with what hangs on each': graphql(
    '{ vehicles(first: 1000) { nodes { vin fleet { name vehicleCount } contracts { totalCount } timeline(first: 5) { nodes { id data { __typename } } } } } }',
  ),
  'five pages and counts of a filter': graphql(
    `{ ${Array.from({ length: 5 }, (_, at) => `a${at}: vehicles(first: 1, filter: { manufacturer: "zzz${at}" }) { totalCount nodes { id } }`).join(' ')} }`,
  ),
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

const own = world.headers('beside');
const call = (method: string, path: string, body?: unknown) =>
  fetch(`${gateway.url}${path}`, { method, headers: own, ...(body !== undefined && { body: JSON.stringify(body) }) });
const fields = { name: 'Small', companyAddress: 'There 2', email: 'a@beside.example', vat: 'DE2' };
const fleet = (await (await call('POST', '/fleets', fields)).json()) as { id: string };
let added = 0;
const small: SmallRequests = {
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
await sendDuring(() => delay(3000), small, 1);
const alone = await sendDuring(() => delay(seconds * 1000), small, Number(options.pace));
report('without other load', alone, alone);
for (const [name, request] of Object.entries(dear).filter(([name]) => name.includes(options.only))) {
  const attack = async () => {
    attacker.send({ url: gateway.url, request, connections: Number(options.connections), seconds } satisfies Attack);
    const [{ p50, counts }] = await once(attacker, 'message');
    console.log(`\n${name}: ${counts}, p50 ${p50} ms`);
  };
  report('beside it', await sendDuring(attack, small, Number(options.pace)), alone);
}
attacker.disconnect();
