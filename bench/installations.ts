/**
 * Measures two installations against one, behind HAProxy as deployed, and what HAProxy costs a request. Each installation
 * (its gateway and its PostgreSQL) gets the same share of a core (control groups); HAProxy and the clients have the rest.
 * Each company has connections of its own, and each installation as many in both cases: with half as many, both would be
 * idle at times.
 *
 * Run:  npx node bench/installations.ts [--share 40] [--rounds 5] [--seconds 4] [--connections 16]     (Linux, as root, with HAProxy)
 * Read: answers per second of two companies in one installation, of four in one, and of two in each of two, in turns;
 * how many times those of two installations are those of one, within a round (median): with as many companies for each
 * and with all companies in one. Where it is more than 2, the processor time for an answer (printed) is not the same in
 * both, and the number says only that it is not below 2. Then p50 of one connection to the gateway itself and by HAProxy, and HAProxy's processor time for a request.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { availableParallelism, constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { writeHaproxyConfig } from '../test/support/haproxy-config.ts';
import { childrenOf } from '../test/support/postgres-server.ts';
import { closedLoop, type Request } from './support/load.ts';
import {
  cpuMicroseconds,
  figure,
  inTurns,
  median,
  medianRatio,
  postmasterOf,
  serverMicroseconds,
} from './support/measure.ts';
import { CoreShare } from './support/share.ts';
import { migrate, openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: {
    share: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '16' },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const COMPANIES = ['own-0', 'own-1', 'own-2', 'own-3'];
const FLEETS = 50;

const fields = { name: 'New', companyAddress: 'Main Street 1', email: 'new@example.com', vat: 'DE1' };

await using worlds = new AsyncDisposableStack();
const first = worlds.use(await openWorld());
const second = worlds.use(await openWorld());
const shares: CoreShare[] = [];
const cpuOf: (() => number)[] = [];
const gateways: { a: string; b: string } = { a: '', b: '' };
for (const [name, { gateway, server, url }] of Object.entries({ a: first, b: second })) {
  migrate(url);
  // Both know the same issuer.
  const { pid, url: own } = await gateway(first.identity);
  await fill(own);
  gateways[name as 'a' | 'b'] = own;
  const share = new CoreShare(name, Number(options.share));
  shares.push(share);
  const postmaster = postmasterOf(server.data);
  share.add(pid, postmaster, ...childrenOf(postmaster));
  cpuOf.push(() => cpuMicroseconds(pid) + serverMicroseconds(server.data));
}
// No core ever idles, so that the fewer answers of one installation do not wait for cores that must be woken.
const spinning = Array.from({ length: availableParallelism() }, () => {
  const child = spawn(process.execPath, ['-e', 'const parent = process.ppid; while (process.ppid === parent);'], {
    stdio: 'ignore',
  });
  setPriority(child.pid as number, constants.priority.PRIORITY_LOW);
  return child;
});
const [one, two] = [await startProxy('one', []), await startProxy('two', COMPANIES.slice(2))];
try {
  for (const [name, requests] of Object.entries(kinds())) {
    await compareInstallations(name, requests);
    await compareWays(name, requests);
  }
} finally {
  for (const child of [one.child, two.child, ...spinning]) child.kill();
  await worlds.disposeAsync();
  for (const share of shares) share.remove();
}

async function compareInstallations(name: string, requests: readonly Request[]): Promise<void> {
  const cpuOfAll = () => cpuOf.reduce((sum, cpu) => sum + cpu(), 0);
  const arms = {
    'two companies in one': { proxy: one, requests: requests.slice(0, 2), installations: 1 },
    'four in one': { proxy: one, requests, installations: 1 },
    'two in each of two': { proxy: two, requests, installations: 2 },
  };
  const samples = await inTurns(Object.values(arms), rounds, async ({ proxy, requests, installations }) => {
    const before = cpuOfAll();
    const { rate, answers } = await load(proxy.url, requests, Number(options.connections) * installations);
    return { rate, cpu: (cpuOfAll() - before) / answers };
  });
  const measured = [...samples.values()];
  for (const [at, arm] of Object.keys(arms).entries()) {
    const all = measured[at] ?? [];
    const [rate, cpu] = [median(all.map((sample) => sample.rate)), median(all.map((sample) => sample.cpu))];
    console.log(`${name.padEnd(32)} ${arm}: ${figure(rate)}/s, CPU for an answer ${figure(cpu)} µs`);
  }
  const [few = [], all = [], twice = []] = measured.map((samples) => samples.map(({ rate }) => rate));
  const [times, timesAll] = [few, all].map((ones) => medianRatio(twice, ones).toFixed(2));
  console.log(`${name.padEnd(32)} two installations ${times} times one; ${timesAll} times one that has all companies`);
}

async function compareWays(name: string, requests: readonly Request[]): Promise<void> {
  const cpu: number[] = [];
  const samples = await inTurns([gateways.a, one.url], rounds, async (url) => {
    const before = cpuMicroseconds(one.pid);
    const result = await load(url, requests.slice(0, 1), 1);
    if (url === one.url) cpu.push((cpuMicroseconds(one.pid) - before) / result.answers);
    return result;
  });
  const [direct = [], proxied = []] = [...samples.values()].map((all) => all.map(({ rate }) => 1000 / rate));
  const took = (times: number[]) => `${median(times).toFixed(2)} ms`;
  console.log(
    `${name.padEnd(32)} one connection: ${took(direct)} a request, by HAProxy ${took(proxied)}; HAProxy ${figure(median(cpu))} µs`,
  );
}

/** Sends the requests of each company on its part of the connections. Lets an unused share expire before. */
async function load(url: string, requests: readonly Request[], connections: number) {
  await delay(100);
  const own = Math.max(1, connections / requests.length);
  const results = await Promise.all(requests.map((request) => closedLoop({ url, request, connections: own, seconds })));
  const sum = (member: 'rate' | 'answers') => results.reduce((total, result) => total + result[member], 0);
  return { rate: sum('rate'), answers: sum('answers') };
}

/** Requests of each company, by what they are. */
function kinds(): Record<string, Request[]> {
  const of = (request: Omit<Request, 'headers'>) =>
    COMPANIES.map((company) => ({ ...request, headers: first.headers(company) }));
  return {
    'POST /fleets': of({ method: 'POST', path: '/fleets', body: JSON.stringify(fields) }),
    [`GET a page of ${FLEETS} fleets`]: of({ method: 'GET', path: `/fleets?limit=${FLEETS}` }),
    'GET a page of 50 vehicles': of({ method: 'GET', path: '/vehicles?limit=50' }),
  };
}

/** The same rows for each company in each installation. */
async function fill(url: string): Promise<void> {
  for (const [at, company] of COMPANIES.entries()) {
    const post = async (path: string, body: unknown) =>
      (await fetch(url + path, { method: 'POST', headers: first.headers(company), body: JSON.stringify(body) })).json();
    let fleet = { id: '' };
    for (let left = FLEETS; left > 0; left--) fleet = (await post('/fleets', fields)) as { id: string };
    const vins = Array.from({ length: 1000 }, (_, n) => `WP0${at}${String(n).padStart(13, '0')}`);
    await post('/vehicles', { fleetId: fleet.id, vins });
  }
}

async function startProxy(name: string, inB: readonly string[]) {
  const folder = mkdtempSync(join(first.folder, `haproxy-${name}-`));
  const { url, command } = await writeHaproxyConfig(folder, gateways, inB);
  const [program, ...args] = command;
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const isUp = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isUp())) await delay(50);
  return { url, child, pid: child.pid as number };
}
