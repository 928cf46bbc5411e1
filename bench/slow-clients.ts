/**
 * Checks that slow clients do not delay other requests: runs slowhttptest (a Debian package) with slow headers (-H),
 * slow bodies (-B) and slow readers (-X), one after the other, and measures /livez meanwhile.
 *
 * Run:  npx node bench/slow-clients.ts [--connections 300] [--seconds 60]
 * Read: "worst" is the longest time of /livez, which should be under 100 ms; both programs share the machine.
 * test/slow/slow-clients.test.ts tests that the gateway cuts slow clients; slowhttptest does not always notice.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { quantile } from './support/measure.ts';
import { openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: { connections: { type: 'string', default: '300' }, seconds: { type: 'string', default: '60' } },
});
await using world = await openWorld({ postgres: null });
const { url } = await world.gateway();
const common = ['-c', options.connections, '-r', '100', '-l', options.seconds, '-p', '2'];
const attacks: Record<string, string[]> = {
  'slow headers': ['-H', '-i', '5', '-x', '24', '-u', `${url}/livez`],
  'slow bodies': ['-B', '-i', '5', '-x', '24', '-s', '8192', '-t', 'POST', '-u', `${url}/fleets`],
  'slow readers': [
    '-X',
    '-w',
    '512',
    '-y',
    '1024',
    '-n',
    '5',
    '-z',
    '32',
    '-k',
    '3',
    '-u',
    `${url}/docs/swagger-ui-bundle.js`,
  ],
};

console.log(`without load${' '.repeat(4)} ${summaryOf(await watch(delay(10_000)))}`);
for (const [name, args] of Object.entries(attacks)) {
  const attack = spawn('slowhttptest', [...common, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  console.log(`${name.padEnd(16)} ${summaryOf(await watch(once(attack, 'exit')))}`);
}

function isAlive(): Promise<boolean> {
  return fetch(`${url}/livez`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Milliseconds of a request to /livez every 50 ms, until `end`. */
async function watch(end: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let ended = false;
  const over = end.then(() => {
    ended = true;
  });
  while (!ended) {
    const start = performance.now();
    if (!(await isAlive())) throw new Error('/livez does not answer');
    times.push(performance.now() - start);
    await delay(50);
  }
  await over;
  return times;
}

function summaryOf(times: number[]): string {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((part) => quantile(times, part).toFixed(1));
  return `/livez p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms (${times.length} requests)`;
}
