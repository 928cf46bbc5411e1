/**
 * Whether reads cost the same however many vehicles there are. Each size has a database and a gateway of its own, asked
 * in turns by one client that sends one request after the other.
 * Run:  npx node bench/growth.ts [--sizes 10000,1000000,10000000] [--rounds 5] [--requests 100]
 * Read: milliseconds at p50, and the ratio to the smallest size (median of the rounds). Counts that are wrong end it.
 */
import { strictEqual } from 'node:assert/strict';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../src/entities/database.ts';
import { startIssuer } from '../test/support/identity-provider.ts';
import { startServer } from '../test/support/postgres-server.ts';
import { type GatewayProcess, startProcess } from './gateway-process.ts';
import { COMPANY, type Seed, seed } from './seed.ts';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000,1000000,10000000' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '100' },
  },
});

interface Size {
  vehicles: number;
  gateway: GatewayProcess;
  seeded: Seed;
  /** A cursor far into the fleet of 100,000. */
  deep: string;
}

/** What is asked: an address, or a GraphQL query. */
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

const server = await startServer();
const issuer = await startIssuer();
// Filling the largest database takes longer than a token lasts.
const exp = Math.floor(Date.now() / 1000) + 86_400;
const token = issuer.sign({ company: COMPANY, exp });
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
const sizes: Size[] = [];
try {
  for (const vehicles of options.sizes.split(',').map(Number)) sizes.push(await open(vehicles));
  for (const size of sizes) await checkCounts(size);
  for (const [name, requestOf] of Object.entries(requests)) {
    const rounds = new Map(sizes.map((size) => [size, [] as number[]]));
    for (let round = 0; round <= Number(options.rounds); round++) {
      for (const size of sizes) {
        const ms = await timeOf(size, requestOf(size));
        // The first round warms up.
        if (round > 0) rounds.get(size)?.push(ms);
      }
    }
    const [first = []] = rounds.values();
    console.log(name);
    for (const [{ vehicles }, times] of rounds) {
      const ratio = medianOf(times.map((ms, round) => ms / (first[round] ?? Number.NaN)));
      console.log(
        `${vehicles.toLocaleString('en').padStart(14)} vehicles  ${medianOf(times).toFixed(2)} ms  ${ratio.toFixed(2)}`,
      );
    }
  }
} finally {
  for (const { gateway } of sizes) await gateway.stop();
  await issuer.stop();
  await server.stop();
}

/** A database with so many vehicles of others around those that are asked for, and a gateway that does nothing else. */
async function open(vehicles: number): Promise<Size> {
  const url = new URL(server.url);
  const admin = new pg.Client(server.url);
  await admin.connect();
  await admin.query(`create database growth_${vehicles}`);
  await admin.end();
  url.pathname = `/growth_${vehicles}`;
  const database = await openDatabase({ DATABASE_URL: url.href, DATABASE_READ_URLS: [], DATA_DIR: '' });
  await database.close();
  const began = performance.now();
  const seeded = await seed(url.href, vehicles);
  console.log(`${vehicles.toLocaleString('en')} vehicles in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const client = new pg.Client(url.href);
  await client.connect();
  const { rows } = await client.query('select id from vehicle where fleet_id = $1 order by id offset 90000 limit 1', [
    seeded.fleetOf100000,
  ]);
  await client.end();
  const gateway = await startProcess({
    DATABASE_URL: url.href,
    AUTH_ISSUER: issuer.issuer,
    AUTH_AUDIENCE: issuer.audience,
    CONTRACTS_AUTH: 'required',
    WORKERS: 'off',
  });
  const deep = Buffer.from(rows[0].id.replaceAll('-', ''), 'hex').toString('base64url');
  return { vehicles, gateway, seeded, deep };
}

async function ask({ gateway }: Size, request: string | { query: string }) {
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
  return medianOf(times);
}

function medianOf(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
