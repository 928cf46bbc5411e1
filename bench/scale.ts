/**
 * Measures whether reads scale with a second process and a second database, and creates with four processes. One of
 * each already fills two cores, so every process gets a small share of a core (control groups), which limits it.
 * Run:  npx node bench/scale.ts [--share 20] [--rounds 5] [--seconds 4] [--connections 16]
 *         [--what processes,databases,creates]     (Linux, as root)
 * Read: requests per second of one and of two (four), in turns, and the ratio within a round (median). First the share
 * limits gateways and not the database, then the reverse: reads of the primary alone, and of the primary and a standby.
 * PostgreSQL waits for its disk.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { childrenOf } from '../test/support/postgres-server.ts';
import { seed } from './seed.ts';
import { closedLoop } from './support/load.ts';
import { figure, inTurns, median, medianRatio, postmasterOf } from './support/measure.ts';
import { CoreShare } from './support/share.ts';
import { migrate, openWorld, type ServerProcess } from './support/world.ts';
import { type Workload, workloads } from './workloads.ts';

const { values: options } = parseArgs({
  options: {
    share: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '16' },
    what: { type: 'string', default: 'processes,databases,creates' },
  },
});
const OTHERS = 10_000;
const CREATORS = 4;
const what = new Set(options.what.split(','));
const shares: CoreShare[] = [];
await using world = await openWorld();
const primary = world.server;
migrate(primary.url);
const seeded = await seed(primary.admin, OTHERS);
const all = await workloads(world, seeded);
const reads = all.filter(({ name }) => /^W[25] (REST|Gr)/.test(name));
const creates = all.filter(({ name }) => name.startsWith('W7'));
await primary.end('SIGINT');
const standby = await primary.standby();
await primary.start();
try {
  if (what.has('creates')) await compareProcesses('creates', creates, CREATORS);
  if (what.has('processes')) await compareProcesses('processes', reads, 2);
  if (what.has('databases')) {
    for (const { data } of [primary, standby]) limit(postmasterOf(data));
    await compare('databases', reads, [await start()], [await start(primary.url, standby.replica)]);
  }
} finally {
  await standby.stop();
  await world[Symbol.asyncDispose]();
  for (const share of shares) share.remove();
}

function start(...readUrls: string[]): Promise<ServerProcess> {
  return world.gateway({ DATABASE_READ_URLS: readUrls.join(','), WORKERS: 'off' });
}

/** Compares one process with `count` processes, each with its own share. */
async function compareProcesses(name: string, requests: readonly Workload[], count: number): Promise<void> {
  const limited: ServerProcess[] = [];
  while (limited.length < count) limited.push(await start());
  for (const { pid } of limited) limit(pid);
  await compare(name, requests, limited.slice(0, 1), limited);
  await Promise.all(limited.map((one) => one.stop()));
}

async function compare(
  name: string,
  requests: readonly Workload[],
  one: ServerProcess[],
  more: ServerProcess[],
): Promise<void> {
  for (const workload of requests) {
    const rates = await inTurns([one, more], Number(options.rounds), (targets) => rateOf(workload, targets));
    const [ones = [], mores = []] = [...rates.values()];
    console.log(
      `${name.padEnd(10)} ${workload.name.padEnd(40)} one ${figure(median(ones))}/s, ${more.length > 1 ? more.length : 'two'} ` +
        `${figure(median(mores))}/s, ratio ${medianRatio(mores, ones).toFixed(2)}`,
    );
  }
}

/** Responses per second of these gateways together; the connections are divided among them. */
async function rateOf({ request }: Workload, targets: ServerProcess[]): Promise<number> {
  const results = await Promise.all(
    targets.map(({ url }) =>
      closedLoop({
        url,
        request,
        connections: Number(options.connections) / targets.length,
        seconds: Number(options.seconds),
      }),
    ),
  );
  // Lets the unused share expire before the next round.
  await delay(100);
  return results.reduce((sum, { rate }) => sum + rate, 0);
}

/** Limits a process, its children and their later children to one share of a core. */
function limit(pid = 0): void {
  const share = new CoreShare(String(pid), Number(options.share));
  shares.push(share);
  share.add(pid, ...childrenOf(pid));
}
