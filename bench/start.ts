/**
 * Measures how long `npm start` takes until it is ready, on an existing database: PostgreSQL, and an embedded folder.
 * Run:  npx node bench/start.ts [--starts 7]
 * Read: the median, least and most milliseconds from the start of the process to its line "ready on"; then the same
 * without the compile cache of an earlier start, and the resident memory of an idle process.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { megabytes, quantile } from './support/measure.ts';
import { openWorld } from './support/world.ts';

const { values: options } = parseArgs({ options: { starts: { type: 'string', default: '7' } } });

/** After this time, memory that only the start needed is freed. */
const IDLE_MS = 15_000;

await using server = await openWorld({ others: false });
await using embedded = await openWorld({ postgres: null });
const worlds = { PostgreSQL: server, embedded };
const ways: Record<string, NodeJS.ProcessEnv> = {
  'as it is': {},
  'compiled anew': { NODE_DISABLE_COMPILE_CACHE: '1' },
};
const times = new Map<string, number[]>();
for (let round = 0; round <= Number(options.starts); round++) {
  for (const [database, world] of Object.entries(worlds)) {
    for (const [way, settings] of Object.entries(ways)) {
      const start = performance.now();
      const gateway = await world.gateway(settings);
      const ms = performance.now() - start;
      await gateway.stop();
      const name = `${database}, ${way}`;
      // The first round creates the database and the compile cache.
      if (round > 0) times.set(name, [...(times.get(name) ?? []), ms]);
    }
  }
}
for (const [name, taken] of times) {
  const [middle = 0, least = 0, most = 0] = [0.5, 0, 1].map((part) => quantile(taken, part));
  console.log(`${name.padEnd(26)} ${middle.toFixed(0)} ms (${least.toFixed(0)} to ${most.toFixed(0)})`);
}
for (const [database, world] of Object.entries(worlds)) {
  const { pid, stop } = await world.gateway();
  const ready = megabytes(pid, 'VmRSS');
  await delay(IDLE_MS);
  console.log(
    `${database.padEnd(26)} ${Math.round(ready)} MB when ready, ${Math.round(megabytes(pid, 'VmRSS'))} MB when idle`,
  );
  await stop();
}
