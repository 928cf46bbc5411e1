/**
 * Measures contracts that begin at the same moment:
 *   npx node bench/midnight.ts [--contracts 10000] [--companies 1000] [--alone 15] [--pace 10]
 * It prints when the manufacturer had been asked about all, when all were active (it is asked again after a minute), the requests
 * to it, the statements' transactions, peak memory, and p50 and p99 of another company's small requests before and meanwhile
 * ("ratio": above 3, it suffers). `--contracts` takes up to 1000000.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { figure, forgetPeak, megabytes } from './support/measure.ts';
import { report, type SmallRequests, sendDuring } from './support/neighbours.ts';
import { migrate, openWorld } from './support/world.ts';

const { values } = parseArgs({
  options: {
    contracts: { type: 'string', default: '10000' },
    companies: { type: 'string', default: '1000' },
    alone: { type: 'string', default: '15' },
    pace: { type: 'string', default: '10' },
  },
});
const [contracts, companies] = [Number(values.contracts), Number(values.companies)];

await using world = await openWorld();
const upstream = fork(new URL('support/clearances.ts', import.meta.url));
const [{ url }] = await once(upstream, 'message');
type Asked = { vehicles: number; requests: Record<string, number> };
async function asked(): Promise<Asked> {
  upstream.send('count');
  return (await once(upstream, 'message'))[0];
}

migrate(world.url);
await world.sql(
  `with made as (
     insert into company select 'company ' || n from generate_series(1, $1::int) n returning company
   ), fleets as (
     insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
     select new_uuid(), company, 'Fleet', 'Here', 'a@example.com', 'DE1', now(), now() from made returning company, id
   ), vehicles as (
     insert into vehicle (id, company, fleet_id, vin, manufacturer, status, created_at)
     select new_uuid(), company, id, 'WBA' || lpad((row_number() over ())::text, 14, '0'), 'bmw', 'UNSUPPORTED', now()
     from fleets, generate_series(1, $2::int) returning company, fleet_id, id
   ), tally as (
     insert into vehicle_tally (company, fleet_id, status, delta)
     select company, fleet_id, 'UNSUPPORTED', count(*) from vehicles group by company, fleet_id
   )
   insert into contract (id, company, fleet_id, vehicle_id, name, description, pack, starts_at, ends_at, created_at)
   select new_uuid(), company, fleet_id, id, 'Contract', 'All day', 'basic', '2900-01-01', '2901-01-01', now()
   from vehicles`,
  [companies, contracts / companies],
);
await world.sql('vacuum analyze');

const gateway = await world.gateway({
  LOG_LEVEL: 'warn',
  CONTRACTS_ACTIVATION: 'on',
  HIGH_MOBILITY_URL: url,
  HIGH_MOBILITY_CLIENT_ID: 'client',
  HIGH_MOBILITY_CLIENT_SECRET: 'secret',
});
const headers = world.headers('beside');
const call = (method: string, path: string, body?: unknown) =>
  fetch(`${gateway.url}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
const fields = { name: 'Small', companyAddress: 'There 2', email: 'a@beside.example', vat: 'DE2' };
const fleet = (await (await call('POST', '/fleets', fields)).json()) as { id: string };
let added = 0;
const small: SmallRequests = {
  'GET a page of 50 vehicles': () => call('GET', `/fleets/${fleet.id}/vehicles?limit=50`),
  'PATCH the fleet': () => call('PATCH', `/fleets/${fleet.id}`, { vat: `DE${added}` }),
  'POST one vehicle': () =>
    call('POST', '/vehicles', { fleetId: fleet.id, vins: [`ZFF${String(added++).padStart(14, '0')}`] }),
};
const number = async (statement: string): Promise<number> => (await world.sql(statement))[0].count;
const transactions = () =>
  number(`select xact_commit::int as count from pg_stat_database where datname = current_database()`);

await sendDuring(() => delay(3000), small, Number(values.pace));
const alone = await sendDuring(() => delay(Number(values.alone) * 1000), small, Number(values.pace));
report('without other work', alone, alone);

forgetPeak(gateway.pid);
const [before, begin] = [await transactions(), performance.now()];
await world.sql(`
  update contract set starts_at = now(), due_at = now();
  insert into schedule (company, kind, due_at) select distinct company, 'contract', now() from contract;
  notify due, 'event'`);
/** Rows written to each table so far: inserts, updates and deletes. */
const written = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await world.sql(
        `select relname, (n_tup_ins + n_tup_upd + n_tup_del)::int as rows from pg_stat_user_tables where schemaname = any(current_schemas(false))`,
      )
    ).map(({ relname, rows }) => [relname, rows]),
  );
const writtenBefore = await written();
const since = () => figure((performance.now() - begin) / 1000);
const beside = await sendDuring(
  async () => {
    while ((await asked()).vehicles < contracts) await delay(250);
    console.log(
      `${contracts} contracts of ${companies} companies: the manufacturer was asked about all after ${since()} s`,
    );
    const left = `select count(*)::int from contract where activation <> 'ACTIVE'`;
    while ((await number(left)) > 0) await delay(1000);
    console.log(`all were active after ${since()} s`);
  },
  small,
  Number(values.pace),
);
const { requests } = await asked();
const sent = [...beside.values()].flat().length;
console.log(
  `requests to the manufacturer: ${JSON.stringify(requests)}; transactions: ${(await transactions()) - before}, with ${sent} requests beside; ` +
    `peak memory ${figure(megabytes(gateway.pid, 'VmHWM'))} MB`,
);
const rows = Object.entries(await written())
  .map(([table, count]): [string, number] => [table, (count - (writtenBefore[table] ?? 0)) / contracts])
  .filter(([, count]) => count >= 0.01);
console.log(
  `rows written for each contract: ${figure(rows.reduce((sum, [, count]) => sum + count, 0))} ` +
    `(${rows.map(([table, count]) => `${table} ${figure(count)}`).join(', ')})`,
);
report('meanwhile', beside, alone);
upstream.disconnect();
