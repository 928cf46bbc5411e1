/**
 * A gateway on a Citus cluster of this machine beside one on a plain PostgreSQL server of the same version; eight companies.
 *
 * Run:  TEST_CITUS_URL=… npx node bench/citus.ts [--rounds 3] [--seconds 1] [--rows 100000]     (a cluster of citus.sh)
 * Read: ratios are medians within rounds, above 1 where Citus is better. All processes share the machine: "by rate" is what it
 * answers with all its cores, "by CPU" what gateway and servers need together for a request. Neither server waits for its disk.
 * CPU is in microseconds a request, of an import a row: of the gateway, then of the server, or of coordinator and workers.
 */
import { parseArgs } from 'node:util';
import { clusterAt, createOn, dropOn } from '../test/support/citus-database.ts';
import { documentOf } from './documents.ts';
import { vehicleOf } from './import-files.ts';
import { closedLoop, type Request } from './support/load.ts';
import * as measured from './support/measure.ts';
import { openWorld, type Started, sql } from './support/world.ts';

const { figure, median, medianRatio } = measured;
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1' },
    rows: { type: 'string', default: '100000' },
  },
});
const NAME = 'fleet_gateway_bench';
const COMPANIES = Array.from({ length: 8 }, (_, number) => `company ${number}`);
const fields = { name: 'New', companyAddress: 'Main Street 1', email: 'new@example.com', vat: 'DE1' };
const document = documentOf('GraphiQL’s first tab', {} as never);
const hasty = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
let turn = 0;

/** A gateway, the data directories of its servers (the coordinator's first), and a fleet of each company. */
interface Contender {
  gateway: Started;
  servers: string[];
  fleets: string[];
}

const cluster = await clusterAt(process.env.TEST_CITUS_URL ?? '');
await dropOn(cluster, NAME);
await using world = await openWorld({ postgres: '15', server: hasty });
const plain = await contend({}, [world.url]);
const nodes = cluster.nodes.map(({ host, port }) => `postgresql://postgres@${host}:${port}/postgres`);
const spread = await contend({ DATABASE_URL: await createOn(cluster, NAME) }, nodes);

const next = () => COMPANIES[++turn % COMPANIES.length] ?? '';
const get = (path: string): Request => ({ method: 'GET', path, headers: world.headers(next()) });
const post = (path: string, value: object): Request => ({ ...get(path), method: 'POST', body: JSON.stringify(value) });
const ofFleet = ({ fleets }: Contender, more: string) => get(`/fleets/${fleets[(turn + 1) % fleets.length]}${more}`);
const requests: Record<string, (contender: Contender) => Request> = {
  'GET a fleet': (contender) => ofFleet(contender, ''),
  'GET 100 vehicles of a fleet': (contender) => ofFleet(contender, '/vehicles?limit=100'),
  'GraphQL, 10 fleets × 5 vehicles': () => post('/graphql', document),
  'POST a fleet': () => post('/fleets', fields),
};
const [seconds, imported] = [Number(options.seconds), Number(options.rows)];
/** Each gives how many operations it was. */
const works: Record<string, (contender: Contender) => Promise<number>> = {};
for (const [name, of] of Object.entries(requests))
  works[name] = async (one) => (await closedLoop({ url: one.gateway.url, request: () => of(one), seconds })).answers;
works[`import of ${figure(imported)} rows`] = async (one) => {
  await upload(one.gateway.url, next(), imported);
  return imported;
};

console.log(`${cluster.version}\n`);
const rows: string[][] = [];
for (const [name, work] of Object.entries(works)) {
  const samples = await measured.inTurns([plain, spread], Number(options.rounds), (one) => measure(one, work));
  const [a = [], b = []] = [...samples.values()];
  const rates = [a, b].map((list) => list.map(({ rate }) => rate)) as [number[], number[]];
  const cpus = [a, b].map((list) => list.map(({ cpu }) => cpu.reduce((sum, one) => sum + one))) as [number[], number[]];
  const each = [a, b].map((list) =>
    (list[0]?.cpu ?? []).map((_, at) => figure(median(list.map(({ cpu }) => cpu[at] ?? 0)))).join(' + '),
  );
  const ratios = [medianRatio(rates[1], rates[0]), medianRatio(cpus[0], cpus[1])].map((one) => one.toFixed(2));
  rows.push([name, ...rates.map((list) => figure(median(list))), ...ratios, ...each]);
}
measured.printTable(
  ['what', 'plain, per s', 'Citus, per s', 'by rate', 'by CPU', 'CPU µs, plain', 'CPU µs, Citus'],
  rows,
);
await spread.gateway.stop();
await dropOn(cluster, NAME);

/** A gateway without background work, on these servers, whose companies have fleets. */
async function contend(settings: NodeJS.ProcessEnv, urls: string[]): Promise<Contender> {
  const gateway = await world.gateway({ WORKERS: 'off', ...settings });
  const servers = await Promise.all(urls.map(async (url) => (await sql(url, 'show data_directory'))[0].data_directory));
  const fleets: string[] = [];
  for (let count = 0; count < 10; count++)
    for (const [at, company] of COMPANIES.entries()) fleets[at] = await upload(gateway.url, company, 100);
  return { gateway, servers, fleets };
}

/** Uploads so many new vehicles into a new fleet and gives its id. */
async function upload(url: string, company: string, count: number): Promise<string> {
  const headers = world.headers(company);
  const made = await fetch(`${url}/fleets`, { method: 'POST', headers, body: JSON.stringify(fields) });
  const { id } = (await made.json()) as { id: string };
  const form = new FormData();
  form.append('fleetId', id);
  const vins = Array.from({ length: count }, () => vehicleOf(++turn).vin);
  form.append('vins', new Blob([`vin\n${vins.join('\n')}\n`]), 'vins.csv');
  const { authorization } = headers;
  const answer = await fetch(`${url}/vehicles/file`, { method: 'POST', headers: { authorization }, body: form });
  const { summary } = (await answer.json()) as { summary?: { created: number } };
  if (summary?.created !== count) throw new Error(`${answer.status}: not all of ${count} vehicles were created`);
  return id;
}

async function measure(contender: Contender, work: (contender: Contender) => Promise<number>) {
  const cpu = () => [
    measured.cpuMicroseconds(contender.gateway.pid),
    ...contender.servers.map(measured.serverMicroseconds),
  ];
  const [before, began] = [cpu(), performance.now()];
  const done = await work(contender);
  const seconds = (performance.now() - began) / 1000;
  return { rate: done / seconds, cpu: cpu().map((now, at) => (now - (before[at] ?? 0)) / done) };
}
