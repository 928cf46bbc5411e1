/**
 * Measures whether a second process publishes more events. Each process and its database backends share a limited part
 * of a core (control groups).
 * Run:  npx node bench/publishing.ts [--share 25] [--rounds 5] [--events 1000]          (Linux, as root)
 * Read: events per second of 8 companies with `events` events each, published by one process and by two, in turns, and
 * the ratio within a round (median). "by CPU" is the ratio if each process gets its full share: twice the CPU time per
 * event with one process, divided by that with two. It depends much less on the load of the machine.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuOrZero, figure, inTurns, median, medianRatio } from './support/measure.ts';
import { CoreShare } from './support/share.ts';
import { migrate, openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    share: { type: 'string', default: '25' },
    rounds: { type: 'string', default: '5' },
    events: { type: 'string', default: '1000' },
  },
});
const COMPANIES = 8;
const EVENTS = COMPANIES * Number(options.events);
const shares: CoreShare[] = [];

// The disk is not measured.
await using world = await openWorld({ server: { fsync: 'off', synchronous_commit: 'off', autovacuum: 'off' } });
migrate(world.url);
await world.sql(`insert into company select 'company ' || c from generate_series(1, ${COMPANIES}) c`);
const publishers = [await start('one'), await start('two')] as const;
try {
  const [, second] = publishers;
  const costs = new Map<number, number[]>([1, 2].map((processes) => [processes, []]));
  const rates = await inTurns([1, 2], Number(options.rounds), async (processes) => {
    for (const publisher of publishers) await publisher.limit();
    if (processes === 1) second.kill('SIGSTOP');
    const before = used();
    const rate = await publish();
    costs.get(processes)?.push((used() - before) / EVENTS);
    second.kill('SIGCONT');
    await delay(300);
    return rate;
  });
  const [ones = [], twos = []] = [...rates.values()];
  console.log(
    `one ${figure(median(ones))}/s, two ${figure(median(twos))}/s, ratio ${medianRatio(twos, ones).toFixed(2)} ` +
      `(${twos.map((two, round) => (two / (ones[round] ?? 0)).toFixed(2)).join(', ')})`,
  );
  const [one = 0, two = 0] = [...costs.values()].map(median);
  console.log(
    `CPU of an event: one ${one.toFixed(0)} µs, two ${two.toFixed(0)} µs; by CPU ${((2 * one) / two).toFixed(2)}`,
  );
} finally {
  await world[Symbol.asyncDispose]();
  for (const share of shares) share.remove();
}

function used(): number {
  return publishers.reduce((sum, publisher) => sum + publisher.microseconds(), 0);
}

/** Events per second, from their notification until all have a position. */
async function publish(): Promise<number> {
  await world.sql(
    `insert into event (type, company, fleet_id, vehicle_ids, vins, actor, at)
     select 'eligibility.changed', 'company ' || c, gen_random_uuid(), array[gen_random_uuid()], array['WBA' || n], 'system', now()
     from generate_series(1, $1::int) n, generate_series(1, ${COMPANIES}) c`,
    [options.events],
  );
  await world.sql('analyze event');
  const began = performance.now();
  await world.sql(`select pg_notify('due', 'event')`);
  while ((await world.sql('select from event where position is null limit 1')).length > 0) await delay(50);
  return EVENTS / ((performance.now() - began) / 1000);
}

/** A process that shares a part of a core with the backends that it has when `limit` is called. */
async function start(name: string) {
  const url = new URL(world.url);
  url.searchParams.set('application_name', name);
  const { pid, child } = await world.gateway({ DATABASE_URL: url.href });
  const share = new CoreShare(name, Number(options.share));
  shares.push(share);
  let pids = [pid as number];
  return {
    /** CPU time so far. */
    microseconds: () => pids.reduce((sum, one) => sum + cpuOrZero(one), 0),
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    async limit() {
      const backends = await world.sql('select pid from pg_stat_activity where application_name = $1', [name]);
      if (backends.length === 0) throw new Error('whose connections are whose cannot be seen');
      pids = [pid as number, ...backends.map((backend) => backend.pid)];
      share.add(...pids);
    },
  };
}
