/**
 * Measures how fast vehicles are verified: `node bench/verification.ts [--vehicles 20000] [--latency 20]` verifies
 * against a local upstream, with one process and two. It prints vehicles per second beside the ceiling, which is
 * concurrency ÷ latency, and the CPU share of an idle process afterwards.
 * `--soak 60` instead adds vehicles and kills a random process about every second, for 60 seconds; at the end every
 * vehicle must have its answer, with no more calls than the claims of killed processes explain.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { scheduleAll } from '../test/support/schedule.ts';
import { eligible, slow, UpstreamServer } from '../test/support/upstream.ts';
import { cpuMicroseconds } from './support/measure.ts';
import { migrate, openWorld, type ServerProcess } from './support/world.ts';

const { values } = parseArgs({
  options: {
    vehicles: { type: 'string', default: '20000' },
    latency: { type: 'string', default: '20' },
    concurrency: { type: 'string', default: '32' },
    soak: { type: 'string' },
  },
});
const vehicles = Number(values.vehicles);
const latency = Number(values.latency);
const concurrency = Number(values.concurrency);

// The disk is not measured.
await using world = await openWorld({ server: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } });
const upstream = await UpstreamServer.start();
upstream.always('eligibility', slow(latency, eligible()));
const settings = {
  LOG_LEVEL: 'warn',
  HIGH_MOBILITY_URL: upstream.url,
  HIGH_MOBILITY_CLIENT_ID: 'client',
  HIGH_MOBILITY_CLIENT_SECRET: 'secret',
  PROVIDER_CONCURRENCY: String(concurrency),
};
const gateways: ServerProcess[] = [];
let made = 0;
migrate(world.url);
await world.sql(`insert into company values ('bench')`);
try {
  if (values.soak) await soak(Number(values.soak));
  else for (const processes of [1, 2]) await measure(processes);
} finally {
  await upstream.close();
}

async function measure(processes: number): Promise<void> {
  for (let started = 0; started < processes; started++) await start();
  await addVehicles(vehicles);
  const begin = performance.now();
  await world.sql(`${scheduleAll}; notify due, 'vehicle'`);
  while ((await pending()) > 0) await delay(100);
  const rate = vehicles / ((performance.now() - begin) / 1000);
  const ceiling = (processes * concurrency) / (latency / 1000);
  await delay(1000);
  const before = cpuSeconds();
  await delay(10_000);
  const idle = (cpuSeconds() - before) / 10 / processes;
  console.log(
    `${processes} process(es): ${rate.toFixed(0)} vehicles/s, ${(rate / ceiling).toFixed(2)} of the ceiling of ${ceiling.toFixed(0)}; ` +
      `idle ${(idle * 100).toFixed(1)} % of a core each`,
  );
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop('SIGKILL')));
}

async function soak(seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  let added = 0;
  let kills = 0;
  await start();
  await start();
  while (performance.now() < end) {
    await addVehicles(500);
    await world.sql(`${scheduleAll}; notify due, 'vehicle'`);
    added += 500;
    // The kill comes at a random moment.
    await delay(Math.random() * 500);
    const [victim] = gateways.splice(Math.floor(Math.random() * gateways.length), 1);
    await victim?.stop('SIGKILL');
    kills += 1;
    await start();
  }
  // Claims of a killed process end 20 seconds after its last sign of life.
  while ((await pending()) > 0) await delay(500);
  const asked = Map.groupBy(
    upstream.received.filter(({ endpoint }) => endpoint === 'eligibility'),
    ({ body }) => JSON.parse(body).vin,
  );
  const most = Math.max(...[...asked.values()].map((requests) => requests.length));
  const [row] = await world.sql(
    `select count(*)::int as answered from vehicle where status = 'ELIGIBLE' and raw_answer is not null`,
  );
  console.log(
    `${added} vehicles added, ${kills} kills: ${row.answered} answered, ${asked.size} asked about, each at most ${most} times`,
  );
  if (row.answered !== added || asked.size !== added || most > kills + 1)
    throw new Error('a verification was lost or repeated');
}

async function start(): Promise<void> {
  gateways.push(await world.gateway(settings));
}

async function addVehicles(count: number): Promise<void> {
  await world.sql(
    `with fleet_row as (
       insert into fleet values (gen_random_uuid(), 'bench', 'Fleet', 'Main Street 1', 'fleet@example.com', 'DE1', now(), now()) returning id
     ), made as (
       insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
       select gen_random_uuid(), 'bench', fleet_row.id, 'WBA' || lpad(n::text, 14, '0'), 'bmw', now(), now()
       from fleet_row, generate_series($1::int + 1, $1::int + $2::int) n
     ) insert into vehicle_tally (company, fleet_id, status, delta) select 'bench', id, 'PENDING', $2::int from fleet_row`,
    [made, count],
  );
  made += count;
}

async function pending(): Promise<number> {
  const [row] = await world.sql(`select sum(delta)::int as count from vehicle_tally where status = 'PENDING'`);
  return row.count ?? 0;
}

function cpuSeconds(): number {
  return gateways.reduce((sum, { pid = 0 }) => sum + cpuMicroseconds(pid), 0) / 1_000_000;
}
