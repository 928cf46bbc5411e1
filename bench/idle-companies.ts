/**
 * Measures what idle companies cost an active one: CPU time of PostgreSQL and the gateways, and the lag of its events.
 * Run:  npx node bench/idle-companies.ts [--idle 100000] [--rounds 3] [--seconds 15] [--rate 5]
 *       [--processes 1] [--vehicles 0]      (Linux)
 * Read: without idle companies and with `idle` of them, in turns, medians of the rounds; then the ratio within a round.
 * Each idle company has a fleet, a vehicle that is due in a month, a contract and a webhook; the active company has
 * `vehicles` vehicles.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from '../test/support/client.ts';
import { openStream } from '../test/support/event-stream.ts';
import { createFleet, recount } from '../test/support/factories.ts';
import { scheduleAll } from '../test/support/schedule.ts';
import {
  cpuMicroseconds,
  figure,
  inTurns,
  median,
  medianRatio,
  quantile,
  serverMicroseconds,
} from './support/measure.ts';
import { migrate, openWorld, type World } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    idle: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '15' },
    rate: { type: 'string', default: '5' },
    processes: { type: 'string', default: '1' },
    vehicles: { type: 'string', default: '0' },
  },
});

const idleCompanies = (count: number) => `
  insert into company select 'idle ' || n from generate_series(1, ${count}) n;
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    select new_uuid(), company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now() from company where company <> 'busy';
  insert into vehicle (id, company, fleet_id, vin, manufacturer, status, created_at, verified_at, due_at)
    select new_uuid(), company, id, 'WBA' || lpad((row_number() over ())::text, 14, '0'), 'bmw', 'ELIGIBLE', now(), now(),
      now() + interval '30 days'
    from fleet where company <> 'busy';
  insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at, due_at)
    select new_uuid(), company, fleet_id, id, 'Log', 'Log', 'log', now(), now() + interval '1 year', now(),
      now() + interval '1 year'
    from vehicle where company <> 'busy';
  insert into webhook (id, company, url, secret, created_at, updated_at)
    select new_uuid(), company, 'https://example.com/', 'secret', now(), now() from company where company <> 'busy';
  ${recount};
  ${scheduleAll}`;

/** A fleet of the active company. */
const largeFleet = (vehicles: number) => `
  insert into company values ('busy');
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
    values (new_uuid(), 'busy', 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now());
  insert into vehicle (id, company, fleet_id, vin, manufacturer, status, created_at, verified_at, due_at)
    select new_uuid(), 'busy', id, 'WBA' || lpad(n::text, 14, '0'), 'bmw', 'ELIGIBLE', now(), now(),
      now() + interval '30 days'
    from fleet, generate_series(1, ${vehicles}) n where company = 'busy';`;

interface BenchSetup {
  world: World;
  pids: number[];
  client: Client;
}

/** A server with this number of idle companies, and its gateways. */
async function open(idle: number): Promise<BenchSetup> {
  const world = await openWorld({ others: false });
  migrate(world.url);
  await world.sql(largeFleet(Number(options.vehicles)));
  await world.sql(idleCompanies(idle));
  await world.sql('vacuum analyze');
  const gateways = [];
  while (gateways.length < Number(options.processes)) gateways.push(await world.gateway());
  const client = new Client(gateways[0]?.url ?? '', world.headers('busy'));
  return { world, pids: gateways.map(({ pid }) => pid), client };
}

/** CPU time in cores, and milliseconds. */
interface Measurement {
  postgresql: number;
  gateways: number;
  lag: number;
  lag99: number;
}

async function measure({ world, pids, client }: BenchSetup): Promise<Measurement> {
  const stream = await openStream(client, '/events/stream');
  const cpu = () => ({
    postgresql: serverMicroseconds(world.server.data),
    gateways: pids.reduce((sum, pid) => sum + cpuMicroseconds(pid), 0),
  });
  const seconds = Number(options.seconds);
  const lags: number[] = [];
  const before = cpu();
  const began = performance.now();
  for (let sent = 0; sent < seconds * Number(options.rate); sent++) {
    await delay(Math.max(0, began + (sent * 1000) / Number(options.rate) - performance.now()));
    await createFleet(client);
    const answered = performance.now();
    await stream.next();
    lags.push(performance.now() - answered);
  }
  await delay(Math.max(0, began + seconds * 1000 - performance.now()));
  const [after, taken] = [cpu(), (performance.now() - began) * 1000];
  stream.close();
  return {
    postgresql: (after.postgresql - before.postgresql) / taken,
    gateways: (after.gateways - before.gateways) / taken,
    lag: median(lags),
    lag99: quantile(lags, 0.99),
  };
}

const setups = new Map<number, BenchSetup>();
try {
  for (const idle of [0, Number(options.idle)]) setups.set(idle, await open(idle));
  const samples = await inTurns([...setups.keys()], Number(options.rounds), (idle) =>
    measure(setups.get(idle) as BenchSetup),
  );
  const [alone = [], beside = []] = [...samples.values()];
  for (const [idle, rounds] of samples) {
    const of = (name: keyof Measurement) => median(rounds.map((one) => one[name]));
    console.log(
      `${idle} idle: PostgreSQL ${figure(of('postgresql') * 100)} % of a core, gateways ${figure(of('gateways') * 100)} %, ` +
        `lag ${figure(of('lag'))} ms, p99 ${figure(of('lag99'))} ms`,
    );
  }
  for (const name of ['postgresql', 'gateways', 'lag'] as const) {
    const [base, more] = [alone, beside].map((rounds) => rounds.map((one) => one[name]));
    console.log(`${name}: ${medianRatio(more ?? [], base ?? []).toFixed(2)} times`);
  }
} finally {
  for (const { world } of setups.values()) await world[Symbol.asyncDispose]();
}
