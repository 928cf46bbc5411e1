/**
 * Compares versions of PostgreSQL by lists that their limits do not fill, and by searches, in a large company.
 * Run:  npx node bench/versions.ts [--postgres 15,18] [--before folder] [--rounds 5] [--times 20] [--others 1000000]  (Linux)
 * Read: milliseconds of a request by itself (the median), and of PostgreSQL's CPU for it, in interleaved rounds. `--before` names the
 * folder of another state of the project, whose gateway is measured beside this one.
 */
import { parseArgs } from 'node:util';
import { unfilled } from './documents.ts';
import { COMPANY, seed } from './seed.ts';
import { inTurns, median, printTable, serverMicroseconds } from './support/measure.ts';
import { migrate, openWorld, type World } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    postgres: { type: 'string', default: '15,18' },
    before: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    times: { type: 'string', default: '20' },
    others: { type: 'string', default: '1000000' },
  },
});

const nested = '{ fleets(first: 20) { nodes { vehicles(first: 100) { nodes { vin } } } } }';
const post = (query: string) => ({ method: 'POST', path: '/graphql', body: JSON.stringify({ query }) });
const get = (path: string) => ({ method: 'GET', path, body: undefined });

interface Contender {
  name: string;
  world: World;
  url: string;
  fleetOf100: string;
}
const contenders: Contender[] = [];
await using worlds = new AsyncDisposableStack();
for (const version of options.postgres.split(',')) {
  const world = worlds.use(await openWorld({ postgres: version }));
  migrate(world.url);
  const { fleetOf100 } = await seed(world.admin, Number(options.others));
  const own = { world, fleetOf100 };
  const settings = { ...world.identity, DATABASE_URL: world.url, DATA_DIR: world.folder, WORKERS: 'off' };
  const before = (name: string) => `${options.before}/src/${name}`;
  if (options.before) {
    const { url } = await world.process(['--import', before('preload.js'), before('main.ts')], settings);
    contenders.push({ ...own, name: `${version} before`, url });
  }
  contenders.push({ ...own, name: version, url: (await world.gateway({ WORKERS: 'off' })).url });
}

const requests = (fleet: string) => ({
  'GET /fleets/{id}/vehicles, 100 vehicles': get(`/fleets/${fleet}/vehicles`),
  '20 fleets × 100 vehicles, first: 100': post(nested),
  'the same with first: 101': post(unfilled(nested)),
  'GET /vehicles?vin=00001': get('/vehicles?vin=00001'),
  'GET /search?q=00001': get('/search?q=00001'),
  'GET /vehicles?manufacturer=zzz': get('/vehicles?manufacturer=zzz'),
});

const rows: string[][] = [];
for (const name of Object.keys(requests(''))) {
  const samples = await inTurns(contenders, Number(options.rounds), async ({ world, url, fleetOf100 }) => {
    const { path, ...request } = requests(fleetOf100)[name as keyof ReturnType<typeof requests>];
    const times: number[] = [];
    const cpu = serverMicroseconds(world.server.data);
    for (let left = Number(options.times); left > 0; left--) {
      const began = performance.now();
      const answer = await fetch(url + path, { ...request, headers: world.headers(COMPANY) });
      await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      times.push(performance.now() - began);
    }
    return { ms: median(times), server: (serverMicroseconds(world.server.data) - cpu) / times.length / 1000 };
  });
  const middle = (key: 'ms' | 'server') =>
    contenders.map((one) => median((samples.get(one) ?? []).map((of) => of[key])));
  const [ms, server] = [middle('ms'), middle('server')];
  rows.push([name, ...ms.map((one, at) => `${one.toFixed(1)} (${server[at]?.toFixed(1)})`)]);
}
printTable(['ms (of PostgreSQL’s CPU)', ...contenders.map(({ name }) => name)], rows);
