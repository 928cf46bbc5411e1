/**
 * Compares the gateway as it ships with the floor, the fastest server we could write by hand for the same responses.
 * Run: npm run bench [-- --rounds 5 --seconds 3 --only W5,writes --postgres 15 --floor usual --others 1000000 --peer name=http://…]
 * Read: a table per question. Ratios are to the floor, medians of interleaved rounds: machines are shared, and absolute
 * figures drift. CPU is microseconds per request, of the server's process and of PostgreSQL; the ratio "by CPU" of both
 * together hardly depends on the load of the machine. Two companies more send small requests throughout. Before the measurement, all responses and all events of writes
 * are compared.
 */
import { release } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { scheduleAll } from '../test/support/schedule.ts';
import { eligible as answered, slow, UpstreamServer } from '../test/support/upstream.ts';
import { checkSame } from './same-answers.ts';
import { seed } from './seed.ts';
import { closedLoop, type LoadResult, openLoop } from './support/load.ts';
import {
  cpuMicroseconds,
  figure,
  forgetPeak,
  inTurns,
  median,
  medianRatio,
  megabytes,
  printTable,
  serverMicroseconds,
} from './support/measure.ts';
import { migrate, openWorld } from './support/world.ts';
import { type Question, requestOf, type Workload, workloads } from './workloads.ts';

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    others: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
    postgres: { type: 'string', default: '18' },
    floor: { type: 'string', default: 'fastest' },
    peer: { type: 'string', multiple: true, default: [] },
  },
});
if (options.help) {
  console.log(
    'Usage: npm run bench [-- --rounds 5 --seconds 3 --only W5,writes --postgres 15 --floor usual --others 1000000 --peer name=http://…]',
  );
  process.exit(0);
}
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
const LARGE_SECONDS = 8;
/** Time of warming up: V8 optimises code that has run some ten thousand times, as in any long-lived service. */
const WARM_UP_SECONDS = 3;
/** Deletions need rows; no server deletes more per second. */
const SUPPLY_PER_SECOND = 1000;
/** With 16 calls at a time, the default, the upstream can answer about 600 per second. */
const UPSTREAM_MS = 25;
const VERIFIED_PER_SECOND = 700;

interface Contender {
  name: string;
  url: string;
  /** Missing if the peer was started elsewhere. */
  pid?: number;
}
interface Sample extends LoadResult {
  cpu: number;
  server: number;
  all: number;
}

const titles: Record<Question, string> = {
  requests: 'Requests',
  writes: 'Writes',
  documents: 'Documents',
  'none twice': 'Documents none of which comes twice',
  tokens: 'Many tokens',
};
const wanted = options.only.split(',');
const isWanted = (...names: string[]) => wanted.some((begin) => names.some((name) => name.startsWith(begin)));

await using world = await openWorld({ postgres: options.postgres });
migrate(world.url);
const seeded = await seed(world.admin, Number(options.others));
const upstream = await UpstreamServer.start();
upstream.always('eligibility', slow(UPSTREAM_MS, answered()));
const floor: Contender = {
  name: 'floor',
  ...(await world.process(['bench/floor/server.ts'], { DATABASE_URL: world.url, FLOOR: options.floor })),
};
const gateway: Contender = {
  name: 'gateway',
  ...(await world.gateway({
    HIGH_MOBILITY_URL: upstream.url,
    HIGH_MOBILITY_CLIENT_ID: 'client',
    HIGH_MOBILITY_CLIENT_SECRET: 'secret',
  })),
};
const peers = options.peer.map((peer) => ({ name: peer.split('=')[0] ?? '', url: peer.slice(peer.indexOf('=') + 1) }));
const all = await workloads(world, seeded);
const [{ version }] = await world.sql('select version()');
console.log(
  `${version.split(' on ')[0]}, Node ${process.version}, Linux ${release()}, ${ROUNDS} rounds of ${SECONDS} s\n`,
);
for (const question of Object.keys(titles) as Question[]) {
  const those = all.filter((one) => one.question === question && isWanted(one.name, question));
  if (those.length > 0) await compare(question, those);
}
if (isWanted('open loop')) await compareOpenLoop();
if (isWanted('verification')) await compareVerification();
await upstream.close();

async function compare(question: Question, those: Workload[]): Promise<void> {
  const contenders = question === 'writes' ? [floor, gateway] : [floor, gateway, ...peers];
  const rows: string[][] = [];
  for (const workload of those) {
    await checkSame(world, workload, contenders);
    // Makes the reported peak that of this row alone.
    if (workload.large) for (const { pid } of [floor, gateway]) if (pid) forgetPeak(pid);
    const samples = await inTurns(contenders, ROUNDS, (contender, round) => measure(workload, contender, round));
    const of = (contender: Contender, key: keyof Sample) => (samples.get(contender) ?? []).map((sample) => sample[key]);
    for (const contender of contenders.slice(1)) {
      const both = (show: (one: Contender) => string) => `${show(floor)} / ${show(contender)}`;
      const middle = (key: keyof Sample) => both((one) => figure(median(of(one, key))));
      rows.push([
        contender === gateway ? workload.name : `${workload.name}, ${contender.name}`,
        middle('rate'),
        medianRatio(of(contender, 'rate'), of(floor, 'rate')).toFixed(2),
        Number.isNaN(workload.goal) ? '' : workload.goal.toFixed(2),
        medianRatio(of(floor, 'all'), of(contender, 'all')).toFixed(2),
        middle('p50'),
        middle('p99'),
        middle('cpu'),
        middle('server'),
      ]);
    }
    if (workload.large) for (const one of [floor, gateway]) console.log(await largeFacts(workload, one));
    process.stderr.write(`${rows.at(-1)?.slice(0, 3).join('  ')}\n`);
  }
  console.log(`\n## ${titles[question]}: floor / gateway\n`);
  printTable(['what', 'per s', 'ratio', 'goal', 'by CPU', 'p50 ms', 'p99 ms', 'CPU µs', 'PostgreSQL µs'], rows);
}

async function measure(workload: Workload, contender: Contender, round: number): Promise<Sample> {
  const isWarmUp = round === 0 && !workload.large;
  const seconds = workload.large ? LARGE_SECONDS : isWarmUp ? WARM_UP_SECONDS : SECONDS;
  const supplied = workload.supply && SUPPLY_PER_SECOND * seconds;
  const amount = (isWarmUp && workload.warmUp) || supplied;
  // autocannon also prepares a few requests per connection in advance.
  if (amount) await workload.supply?.(amount + 100);
  const cpu = () => (contender.pid ? cpuMicroseconds(contender.pid) : Number.NaN);
  const before = { cpu: cpu(), server: serverMicroseconds(world.server.data) };
  const { url } = contender;
  const answered = await closedLoop({
    url,
    request: workload.request,
    connections: workload.large ? 2 : 16,
    seconds,
    amount,
  });
  // Work after the response counts as part of the write.
  if (workload.question === 'writes') await published();
  const own = (cpu() - before.cpu) / answered.answers;
  const server = (serverMicroseconds(world.server.data) - before.server) / answered.answers;
  return { ...answered, cpu: own, server, all: own + server };
}

/** Waits until all events are published, so that the next contender starts with an idle gateway. */
async function published(): Promise<void> {
  while ((await world.sql('select from event where position is null limit 1')).length > 0) await delay(50);
}

/** Peak memory and time to the first byte, without other load. */
async function largeFacts(workload: Workload, { name, url, pid = 0 }: Contender): Promise<string> {
  const times: number[] = [];
  for (let asked = 0; asked < 9; asked++) {
    const { path, ...request } = requestOf(workload);
    const start = performance.now();
    const reader = (await fetch(url + path, request)).body?.getReader();
    await reader?.read();
    times.push(performance.now() - start);
    while (reader && !(await reader.read()).done);
  }
  return `${workload.name}, ${name}: first byte ${median(times).toFixed(1)} ms, peak ${figure(megabytes(pid, 'VmHWM'))} MB`;
}

/** Compares latencies at 30 % of the gateway's capacity. */
async function compareOpenLoop(): Promise<void> {
  const rows: string[][] = [];
  for (const workload of all.filter(
    ({ name }) => /^(W[1345]|W7.*REST)/.test(name) && !name.includes('none') && !name.includes('tokens'),
  )) {
    const capacity = await closedLoop({ url: gateway.url, request: workload.request, seconds: SECONDS });
    const rate = capacity.rate * 0.3;
    const samples = await inTurns([floor, gateway], ROUNDS, ({ url }) =>
      openLoop(url, rate, SECONDS, () => requestOf(workload)),
    );
    await published();
    const both = (key: 'p50' | 'p99') =>
      [floor, gateway]
        .map((one) => median((samples.get(one) ?? []).map((sample) => sample[key])).toFixed(1))
        .join(' / ');
    rows.push([workload.name, figure(rate), both('p50'), both('p99')]);
  }
  console.log('\n## Open loop, at 30 % of the gateway’s capacity: floor / gateway\n');
  printTable(['what', 'per s', 'p50 ms', 'p99 ms'], rows);
}

/** Compares reads without and with verification of other companies' vehicles, with default concurrency. */
async function compareVerification(): Promise<void> {
  const rows: string[][] = [];
  for (const workload of all.filter(({ name, question }) => question === 'requests' && /^W[1-5] /.test(name))) {
    const verified: number[] = [];
    const samples = await inTurns(['without', 'with'], ROUNDS, async (how) => {
      if (how === 'with') await makeDue(VERIFIED_PER_SECOND * (SECONDS + 1));
      const before = upstream.count('eligibility');
      const sample = await closedLoop({ url: gateway.url, request: workload.request, seconds: SECONDS });
      if (how === 'with') verified.push((upstream.count('eligibility') - before) / SECONDS);
      await makeDue(0);
      upstream.received.length = 0;
      return sample;
    });
    const of = (how: string) => (samples.get(how) ?? []).map(({ rate }) => rate);
    rows.push([
      workload.name,
      figure(median(of('without'))),
      figure(median(of('with'))),
      medianRatio(of('with'), of('without')).toFixed(2),
      '0.85',
      figure(median(verified)),
    ]);
  }
  console.log('\n## Reads while vehicles are verified\n');
  printTable(['what', 'without, per s', 'with, per s', 'ratio', 'goal', 'vehicles verified per s'], rows);
}

/** Makes exactly `count` vehicles of other companies due, after all running verifications have ended. */
async function makeDue(count: number): Promise<void> {
  await world.sql(`update vehicle set due_at = now() + interval '30 days', status = 'ELIGIBLE'
    where company like 'other-%' and due_at < now() + interval '1 day' and claimed_by is null`);
  while (
    (await world.sql(`select from vehicle where due_at < now() + interval '1 day' and claimed_by is not null limit 1`))
      .length > 0
  )
    await delay(50);
  await published();
  await world.sql(
    `update vehicle set due_at = now(), status = 'PENDING', verified_at = null where id in (
       select id from vehicle where company like 'other-%' and status = 'ELIGIBLE' limit $1)`,
    [count],
  );
  if (count > 0) await world.sql(`${scheduleAll}; notify due, 'vehicle'`);
}
