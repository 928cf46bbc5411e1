/**
 * Measures the requests of one company, alone and while another company sends as fast as it can.
 *
 * Run:  npx node bench/flood.ts [--seconds 15] [--pace 20] [--connections 32] [--limit 3000]
 * Read: each request of the quiet company is sent alone, `pace` milliseconds after the previous response. "ratio" is
 * p99 during the flood divided by p99 before it; above 2, the quiet company suffers. The flood runs in its own process,
 * but on the same machine: with two cores or fewer, the quiet company also waits for a core.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { quantile } from './support/measure.ts';
import { openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '15' },
    pace: { type: 'string', default: '20' },
    connections: { type: 'string', default: '32' },
    limit: { type: 'string', default: '3000' },
  },
});
const autocannon = createRequire(import.meta.url).resolve('autocannon');
const fields = { companyAddress: '1 Main Street', email: 'fleet@example.com', vat: 'DE123456789' };

await using world = await openWorld();
const gateway = await world.gateway({ RATE_LIMIT_PER_MINUTE: options.limit });
for (const company of ['quiet', 'loud'])
  for (let at = 0; at < 20; at++) await call(company, 'POST', '/fleets', { ...fields, name: `Fleet ${at}` });
const small: Record<string, () => Promise<Response>> = {
  'GET /fleets': () => call('quiet', 'GET', '/fleets'),
  'GraphQL, 20 fleets': () =>
    call('quiet', 'POST', '/graphql', { query: '{ fleets(first: 20) { nodes { id name } } }' }),
};
await measure(small, 3);
const before = await measure(small, Number(options.seconds));
const flooding = flood();
await delay(3_000);
const during = await measure(small, Number(options.seconds));
console.log(await flooding);
for (const name of Object.keys(small)) {
  const [usual, now] = [p99(before.get(name)), p99(during.get(name))];
  console.log(
    `${name.padEnd(20)} p99 ${usual.toFixed(1)} ms alone, ${now.toFixed(1)} ms during (${during.get(name)?.length} requests)   ratio ${(now / usual).toFixed(2)}`,
  );
}

async function call(company: string, method: string, path: string, body?: unknown): Promise<Response> {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: world.headers(company),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
  return response;
}

/** Floods slightly longer than a measurement takes; returns the output of autocannon. */
async function flood(): Promise<string> {
  const child = spawn(
    process.execPath,
    [
      autocannon,
      ...['--connections', options.connections, '--duration', String(Number(options.seconds) + 5), '--json'],
      ...['--headers', `authorization=${world.headers('loud').authorization}`, `${gateway.url}/fleets`],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const { '2xx': good, non2xx: refused, duration } = JSON.parse(await text(child.stdout));
  return `the flood: ${good} answered, ${refused} refused in ${duration} s`;
}

/** Milliseconds of each small request, by name. */
async function measure(
  small: Record<string, () => Promise<Response>>,
  seconds: number,
): Promise<Map<string, number[]>> {
  const times = new Map(Object.keys(small).map((name) => [name, [] as number[]]));
  for (const end = performance.now() + seconds * 1000; performance.now() < end; ) {
    for (const [name, request] of Object.entries(small)) {
      const started = performance.now();
      await request();
      times.get(name)?.push(performance.now() - started);
      await delay(Number(options.pace));
    }
  }
  return times;
}

function p99(times: number[] = []): number {
  return quantile(times, 0.99);
}
