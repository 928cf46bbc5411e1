/**
 * Measures pages of fleets sorted by their numbers of vehicles, in a company of 100,000 fleets: alone, right after an import, and beside
 * writers that add vehicles to other fleets all the time.
 * Run:  npx node bench/fleets-by-size.ts [--postgres 15,18] [--fleets 100000] [--pages 100] [--writes 20]  (Linux)
 * Read: milliseconds of a page of 50 (the median and the 95th percentile). Goal: 20.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { figure, median, printTable, quantile } from './support/measure.ts';
import { migrate, openWorld, type World } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    postgres: { type: 'string', default: '15,18' },
    fleets: { type: 'string', default: '100000' },
    pages: { type: 'string', default: '100' },
    writes: { type: 'string', default: '20' },
  },
});
const COMPANY = 'sizes';
const STATUSES = `array['ELIGIBLE', 'INELIGIBLE', 'FAILED', 'PENDING']`;

/** Fleets ($1) with sums of each status that no vehicles stand behind: pages read none. */
const fleets = `
  insert into fleet (id, company, name, company_address, email, vat, created_at, updated_at)
  select new_uuid(), '${COMPANY}', 'Fleet ' || md5(n::text), 'Main Street 1, Berlin', 'fleet@example.com', 'DE' || n, now(), now()
  from generate_series(1, $1::int) n`;
const tallies = `
  insert into vehicle_tally (company, fleet_id, status, delta)
  select company, id, status, (random() * 100)::int from fleet cross join unnest(${STATUSES}) status where company = '${COMPANY}'`;

async function measure(postgres: string): Promise<Map<string, string>> {
  await using world = await openWorld({ postgres });
  migrate(world.url);
  await world.sql(fleets, [options.fleets]);
  await world.sql(tallies);
  await world.sql('analyze');
  const { url } = await world.gateway();
  const began = performance.now();
  while ((await world.sql('select from vehicle_tally where not counted limit 1')).length > 0) await delay(1000);
  const results = new Map([['summed up after an upgrade, s', figure((performance.now() - began) / 1000)]]);
  await world.sql('vacuum analyze');
  const ids = (
    await world.sql(`select id from fleet where company = '${COMPANY}' order by md5(id::text) limit 2000`)
  ).map(({ id }) => id as string);
  const ask = clientOf(world, url);
  const deep = await ask.after(20);
  const listed = (field: string, more: string) => ({
    query: `{ fleets(first: 50, orderBy: { field: ${field}, direction: DESC }) { ${more} nodes { id name vehicleCount } } }`,
  });
  const pageInfo = 'pageInfo { hasNextPage hasPreviousPage endCursor }';
  const pages: Record<string, () => Promise<void>> = {
    'REST, by name': () => ask.get('/fleets?limit=50&sort=name'),
    'REST, most vehicles': () => ask.get('/fleets?limit=50&sort=-vehicleCount'),
    'REST, most needing attention, the 21st page': () => ask.get(`/fleets?limit=50&sort=-attentionCount&after=${deep}`),
    'GraphQL with pageInfo, by name': () => ask.post('/graphql', listed('NAME', pageInfo)),
    'GraphQL with pageInfo, most vehicles': () => ask.post('/graphql', listed('VEHICLE_COUNT', pageInfo)),
    'GraphQL with totalCount, by name': () => ask.post('/graphql', listed('NAME', 'totalCount')),
    'GraphQL with totalCount, most vehicles': () => ask.post('/graphql', listed('VEHICLE_COUNT', 'totalCount')),
  };
  const times = async (page: () => Promise<void>, before = async () => {}) => {
    const all: number[] = [];
    for (let left = Number(options.pages); left > 0; left--) {
      await before();
      const start = performance.now();
      await page();
      all.push(performance.now() - start);
    }
    return `${figure(median(all))}, ${figure(quantile(all, 0.95))}`;
  };
  let vin = 0;
  const vins = (count: number) => Array.from({ length: count }, () => `WBA${String(vin++).padStart(14, '0')}`);
  const someFleet = () => ids[randomInt(ids.length)];

  for (const page of Object.values(pages)) await times(page);
  for (const [name, page] of Object.entries(pages)) results.set(name, await times(page));
  for (const [name, page] of Object.entries(pages)) {
    await ask.upload(someFleet(), vins(20_000));
    results.set(`${name}, right after an import`, await times(page));
  }
  const stop = new AbortController();
  const writing = (async () => {
    while (!stop.signal.aborted) {
      await ask.post('/vehicles', { fleetId: someFleet(), vins: vins(1) });
      await delay(1000 / Number(options.writes));
    }
  })();
  // Longer than upkeep waits between two sums.
  await Promise.race([writing, delay(25_000)]);
  for (const [name, page] of Object.entries(pages))
    results.set(`${name}, beside writes`, await times(page, () => delay(200)));
  stop.abort();
  await writing;
  return results;
}

function clientOf(world: World, url: string) {
  const headers = world.headers(COMPANY);
  const send = async (path: string, init: RequestInit) => {
    const ask = () => fetch(url + path, { headers, ...init });
    // A connection that has been idle may just have been closed.
    const answer = await ask().catch(ask);
    const text = await answer.text();
    if (!answer.ok || text.startsWith('{"errors"')) throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`);
    return answer;
  };
  return {
    get: async (path: string) => void (await send(path, {})),
    post: async (path: string, body: unknown) =>
      void (await send(path, { method: 'POST', body: JSON.stringify(body) })),
    upload: async (fleet = '', vins: readonly string[] = []) =>
      void (await send(`/vehicles/file?fleetId=${fleet}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'text/csv' },
        body: ['vin', ...vins].join('\n'),
      })),
    /** The cursor behind so many pages. */
    async after(pages: number) {
      const { headers: given } = await send(`/fleets?limit=${pages * 50}&sort=-attentionCount`, {});
      return /after=([^&>]+)/.exec(given.get('link') ?? '')?.[1];
    },
  };
}

const versions = options.postgres.split(',');
const found: Map<string, string>[] = [];
for (const version of versions) found.push(await measure(version));
const names = [...(found[0]?.keys() ?? [])];
printTable(
  ['ms: median, 95 %', ...versions],
  names.map((name) => [name, ...found.map((one) => one.get(name) ?? '')]),
);
