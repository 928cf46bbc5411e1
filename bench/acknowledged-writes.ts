/**
 * Checks that no acknowledged write is lost or repeated while the gateway and the database are killed with -9.
 * Run:  npx node bench/acknowledged-writes.ts [--kills 20] [--writes 1000] [--database embedded]
 * Read: a round creates `writes` fleets by both interfaces, with Idempotency-Keys and retries. At a random moment of a
 * round the gateway, the whole server or one of its backends, in turn, is killed and started again (embedded: the one
 * process). "missing" counts fleets with a 2xx response that are not stored; "twice" and "changed" should be 0 as well.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { difference, writeAll } from '../test/support/acknowledged-writes.ts';
import { openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    writes: { type: 'string', default: '1000' },
    database: { type: 'string', default: 'postgresql' },
  },
});
const LONGEST_BEFORE_KILL_MS = 1_500;

const embedded = options.database === 'embedded';

await using world = await openWorld(embedded ? { postgres: null } : {});
let gateway = await world.gateway(world.identity);

const killings: Record<string, () => Promise<void>> = {
  async gateway() {
    await gateway.stop('SIGKILL');
    gateway = await world.gateway(world.identity, gateway.port);
  },
  ...(!embedded && {
    async server() {
      await world.server.end('SIGKILL');
      await world.server.start();
    },
    async backend() {
      const rows = await world.sql(`select pid from pg_stat_activity where application_name = 'fleet-gateway'`);
      process.kill(rows[Math.floor(Math.random() * rows.length)].pid, 'SIGKILL');
    },
  }),
};
const totals = { acknowledged: 0, retried: 0, missing: 0, twice: 0, changed: 0, faults: 0 };
const headers = () => world.headers('writes');
for (let kill = 0; kill < Number(options.kills); kill++) {
  const [victim, strike] = Object.entries(killings)[kill % Object.keys(killings).length] ?? [];
  const writing = writeAll({ url: gateway.url, headers, writes: Number(options.writes) });
  await delay(Math.random() * LONGEST_BEFORE_KILL_MS);
  await strike?.();
  const written = await writing;
  const lost = difference(written, await stored());
  const round = {
    acknowledged: written.acknowledged.size,
    retried: written.retried,
    ...lost,
    faults: written.faults.length,
  };
  for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += round[key];
  console.log(
    `${String(kill + 1).padStart(3)} kill -9 of the ${victim}:`,
    JSON.stringify(round),
    ...new Set(written.faults),
  );
}
console.log('in all:', JSON.stringify(totals));
if (totals.missing + totals.twice + totals.changed + totals.faults > 0) process.exitCode = 1;

/** Reads every fleet from the tables, or from the gateway if the database is embedded and has a single user. */
async function stored(): Promise<{ id: string; name: string }[]> {
  if (!embedded) return world.sql('select id, name from fleet');
  return (await fetch(`${gateway.url}/fleets`, { headers: headers() })).json() as Promise<
    { id: string; name: string }[]
  >;
}
