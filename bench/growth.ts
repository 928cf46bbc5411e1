/**
 * Measures whether reads cost the same for any number of vehicles. Each size has its own database and gateway; a client
 * sends one request after the other to each in turn.
 * Run:  npx node bench/growth.ts [--sizes 10000,1000000,10000000] [--rounds 5] [--requests 100]
 * Read: milliseconds at p50, and the ratio to the smallest size (median of the rounds). A wrong count ends the bench.
 */
import { strictEqual } from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { COMPANY, type Seed, seed } from './seed.ts';
import { inTurns, median, medianRatio } from './support/measure.ts';
import { migrate, openWorld, type ServerProcess, sql } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,1000000,10000000' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '100' },
  },
});

interface Size {
  vehicles: number;
  gateway: ServerProcess;
  seeded: Seed;
  /** A cursor far into the fleet of 100,000. */
  deep: string;
}

/** Requests by name: a path, or a GraphQL query. */
const requests: Record<string, (size: Size) => string | { query: string }> = {
  'REST, eligibility of a VIN': ({ seeded }) => `/vehicles/eligibility/${seeded.vin}`,
  'REST, 50 fleets with their vehicleCount': () => '/fleets',
  'REST, first 100 of 100,000 vehicles': ({ seeded }) => `/fleets/${seeded.fleetOf100000}/vehicles?limit=100`,
  'REST, 100 vehicles behind the 90,000th': ({ seeded, deep }) =>
    `/fleets/${seeded.fleetOf100000}/vehicles?limit=100&after=${deep}`,
  'GraphQL, totalCount and eligibilitySummary of 100,000': ({ seeded }) => ({
    query: `{ fleet(id: "${seeded.fleetOf100000}") { vehicleCount eligibilitySummary { eligible } vehicles(first: 1) { totalCount } } }`,
  }),
  'GraphQL, 20 fleets × 20 vehicles': () => ({
    query: '{ fleets(first: 20) { nodes { id vehicles(first: 20) { nodes { vin eligibility { status } } } } } }',
  }),
};

await using world = await openWorld();
const sizes: Size[] = [];
for (const vehicles of options.sizes.split(',').map(Number)) sizes.push(await open(vehicles));
for (const size of sizes) await checkCounts(size);
for (const [name, requestOf] of Object.entries(requests)) {
  const rounds = await inTurns(sizes, Number(options.rounds), (size) => timeOf(size, requestOf(size)));
  const [first = []] = rounds.values();
  console.log(name);
  for (const [{ vehicles }, times] of rounds) {
    const size = vehicles.toLocaleString('en').padStart(14);
    console.log(`${size} vehicles  ${median(times).toFixed(2)} ms  ${medianRatio(times, first).toFixed(2)}`);
  }
}

/** A database with this number of vehicles of other companies, and a gateway without other load. */
async function open(vehicles: number): Promise<Size> {
  const { url, admin } = await world.server.database(`growth_${vehicles}`);
  migrate(url);
  const began = performance.now();
  const seeded = await seed(admin, vehicles);
  console.log(`${vehicles.toLocaleString('en')} vehicles in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const [row] = await sql(admin, 'select id from vehicle where fleet_id = $1 order by id offset 90000 limit 1', [
    seeded.fleetOf100000,
  ]);
  const gateway = await world.gateway({ DATABASE_URL: url, WORKERS: 'off' });
  const deep = Buffer.from(row.id.replaceAll('-', ''), 'hex').toString('base64url');
  return { vehicles, gateway, seeded, deep };
}

async function ask({ gateway }: Size, request: string | { query: string }) {
  const headers = world.headers(COMPANY);
  const answer = await (typeof request === 'string'
    ? fetch(gateway.url + request, { headers })
    : fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body: JSON.stringify(request) }));
  const body = JSON.parse(await answer.text());
  if (!answer.ok || body.errors) throw new Error(`${answer.status} ${JSON.stringify(body).slice(0, 300)}`);
  return body;
}

async function checkCounts(size: Size): Promise<void> {
  const { fleetOf100000 } = size.seeded;
  const { data } = await ask(size, {
    query: `{ fleets { totalCount } fleet(id: "${fleetOf100000}") { vehicleCount eligibilitySummary { eligible pending }
      vehicles { totalCount } } }`,
  });
  strictEqual(data.fleets.totalCount, 50);
  strictEqual(data.fleet.vehicleCount, 100_000);
  strictEqual(data.fleet.vehicles.totalCount, 100_000);
  strictEqual(data.fleet.eligibilitySummary.eligible, 100_000);
  strictEqual(data.fleet.eligibilitySummary.pending, 0);
}

/** The median time of a request, in milliseconds. */
async function timeOf(size: Size, request: string | { query: string }): Promise<number> {
  const times: number[] = [];
  for (let left = Number(options.requests); left > 0; left--) {
    const began = performance.now();
    await ask(size, request);
    times.push(performance.now() - began);
  }
  return median(times);
}
