/**
 * Measures background work when many companies have vehicles due at once:
 *   npx node bench/due-companies.ts [--companies 100000] [--vehicles 2] [--seconds 25] [--latency 20]
 * It prints when the first answer was stored after a start, how many were within `seconds`, how long SIGTERM takes and the claims
 * that it leaves (10 s and none are promised), and for how long a killed process's claims are held (20 s are promised).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { scheduleAll } from '../test/support/schedule.ts';
import { eligible, slow, UpstreamServer } from '../test/support/upstream.ts';
import { figure } from './support/measure.ts';
import { migrate, openWorld } from './support/world.ts';

const { values } = parseArgs({
  options: {
    companies: { type: 'string', default: '100000' },
    vehicles: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '25' },
    latency: { type: 'string', default: '20' },
  },
});
const seconds = Number(values.seconds);
const SECONDS_TOGETHER = 5;

// The disk is not measured.
await using world = await openWorld({ server: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } });
const upstream = await UpstreamServer.start();
upstream.always('eligibility', slow(Number(values.latency), eligible()));
const settings = {
  LOG_LEVEL: 'warn',
  HIGH_MOBILITY_URL: upstream.url,
  HIGH_MOBILITY_CLIENT_ID: 'client',
  HIGH_MOBILITY_CLIENT_SECRET: 'secret',
};
const number = async (statement: string): Promise<number> => (await world.sql(statement))[0].count;
const answered = () => number(`select count(*)::int from vehicle where status <> 'PENDING'`);
const claims = () => number('select count(*)::int from vehicle where claimed_by is not null');
const secondsSince = (start: number) => figure((performance.now() - start) / 1000);

try {
  migrate(world.url);
  await world.sql(`
    insert into company select 'company ' || n from generate_series(1, ${Number(values.companies)}) n;
    insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
      select new_uuid(), company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now() from company;
    insert into vehicle (id, company, fleet_id, vin, manufacturer, created_at, due_at)
      select new_uuid(), company, id, 'WBA' || lpad((row_number() over ())::text, 14, '0'), 'bmw', now(), now()
      from fleet, generate_series(1, ${Number(values.vehicles)});
    insert into vehicle_tally (company, fleet_id, status, delta)
      select company, fleet_id, 'PENDING', count(*) from vehicle group by company, fleet_id;
    ${scheduleAll}`);
  await world.sql('vacuum analyze');

  let start = performance.now();
  const stopped = await world.gateway(settings);
  const ready = secondsSince(start);
  start = performance.now();
  while ((await answered()) === 0) await delay(10);
  const first = secondsSince(start);
  await delay(Math.max(0, seconds * 1000 - (performance.now() - start)));
  console.log(
    `start: ready after ${ready} s, first answer ${first} s later; ${await answered()} answers within ${seconds} s`,
  );

  start = performance.now();
  const code = await stopped.stop('SIGTERM');
  console.log(`SIGTERM: exit code ${code} after ${secondsSince(start)} s, ${await claims()} claims left`);

  const killed = await world.gateway(settings);
  while ((await number('select count(*)::int from worker')) === 0) await delay(10);
  const [{ id }] = await world.sql('select id from worker');
  await world.gateway(settings);
  await delay(SECONDS_TOGETHER * 1000);
  await killed.stop('SIGKILL');
  start = performance.now();
  const held = () => number(`select count(*)::int from vehicle where claimed_by = '${id}'`);
  const [many, before] = [await held(), await answered()];
  while ((await held()) > 0) await delay(100);
  console.log(
    `SIGKILL: ${many} claims of the process were held for ${secondsSince(start)} s, ` +
      `in which the other one stored ${(await answered()) - before} answers`,
  );
} finally {
  await upstream.close();
}
