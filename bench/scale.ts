/**
 * Whether reads scale with a second process and with a second database. Two cores are full with one of each, so every
 * process gets a small share of a core (control groups), and the share is what limits it.
 * Run:  npx node bench/scale.ts [--share 20] [--rounds 5] [--seconds 4]          (Linux, as root)
 * Read: requests per second of one and of two, in turns, and the ratio of a round (median). First gateways have the share
 * and the database all it wants, then the other way about: reads of the primary alone, and of the primary and a standby.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { openDatabase } from '../src/entities/database.ts';
import { startIssuer } from '../test/support/identity-provider.ts';
import { childrenOf, type Server, startServer } from '../test/support/postgres-server.ts';
import { type GatewayProcess, startProcess } from './gateway-process.ts';
import { seed } from './seed.ts';
import { companyOf, type Workload, workloads } from './workloads.ts';

const { values: options } = parseArgs({
  options: {
    share: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
  },
});
const CONNECTIONS = 16;
const OTHERS = 10_000;
const PERIOD_US = 20_000;

const groups: string[] = [];
const gateways: GatewayProcess[] = [];
const issuer = await startIssuer();
const primary = await startServer();
let standby: Server | undefined;
try {
  const database = await openDatabase({ DATABASE_URL: primary.url, DATABASE_READ_URLS: [], DATA_DIR: '' });
  await database.close();
  const seeded = await seed(primary.url, OTHERS);
  await primary.end('SIGINT');
  standby = await primary.standby();
  await primary.start();
  const read = workloads(seeded).filter(({ name }) => /^W[25] /.test(name));

  const limited = [await start(), await start()] as const;
  for (const { child } of limited) limit(child.pid);
  await compare('processes', read, [limited[0]], [...limited]);
  await Promise.all(limited.map((one) => one.stop()));

  for (const { data } of [primary, standby])
    limit(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]));
  await compare('databases', read, [await start()], [await start(primary.url, standby.url)]);
} finally {
  await Promise.all(gateways.map((one) => one.stop('SIGKILL')));
  await standby?.end('SIGINT');
  await primary.stop();
  await issuer.stop();
  for (const group of groups) rmdirSync(group);
}

async function start(...readUrls: string[]): Promise<GatewayProcess> {
  const gateway = await startProcess({
    DATABASE_URL: primary.url,
    DATABASE_READ_URLS: readUrls.join(','),
    AUTH_ISSUER: issuer.issuer,
    AUTH_AUDIENCE: issuer.audience,
    CONTRACTS_AUTH: 'required',
    WORKERS: 'off',
  });
  gateways.push(gateway);
  return gateway;
}

async function compare(what: string, reads: Workload[], one: GatewayProcess[], two: GatewayProcess[]): Promise<void> {
  for (const workload of reads) {
    const rounds: { one: number; two: number }[] = [];
    for (let round = 0; round <= Number(options.rounds); round++) {
      const rates = { one: await rateOf(workload, one), two: await rateOf(workload, two) };
      // The first round warms all up.
      if (round > 0) rounds.push(rates);
    }
    const middle = (of: (round: { one: number; two: number }) => number) =>
      rounds.map(of).sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? Number.NaN;
    console.log(
      `${what.padEnd(10)} ${workload.name.padEnd(40)} one ${middle((r) => r.one).toFixed(0)}/s, two ${middle((r) => r.two).toFixed(0)}/s, ` +
        `ratio ${middle((r) => r.two / r.one).toFixed(2)}`,
    );
  }
}

/** Answers per second of these gateways together; the connections are shared out between them. */
async function rateOf(workload: Workload, targets: GatewayProcess[]): Promise<number> {
  const authorization = `Bearer ${issuer.sign({ company: companyOf(workload) })}`;
  const results = await Promise.all(
    targets.map(({ url }) =>
      autocannon({
        url: `${url}${workload.path}`,
        method: workload.body ? 'POST' : 'GET',
        headers: { authorization, ...(workload.body !== undefined && { 'content-type': 'application/json' }) },
        ...(workload.body !== undefined && { body: JSON.stringify(workload.body) }),
        connections: CONNECTIONS / targets.length,
        duration: Number(options.seconds),
      }),
    ),
  );
  const refused = results.reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0);
  if (refused > 0) throw new Error(`${workload.name}: ${refused} requests failed`);
  // What is left of a share must not be there for the next round.
  await delay(100);
  return results.reduce((sum, result) => sum + result['2xx'] / result.duration, 0);
}

/** Gives a process, its children and those it starts later the share of a core, all together. */
function limit(pid: number | undefined): void {
  const second = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const group = join('/sys/fs/cgroup', second ? '' : 'cpu', `fleet-gateway-${pid}`);
  mkdirSync(group);
  groups.push(group);
  const quota = (PERIOD_US * Number(options.share)) / 100;
  if (second) writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`);
  else {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota));
  }
  for (const one of [pid ?? 0, ...childrenOf(pid)]) writeFileSync(join(group, 'cgroup.procs'), String(one));
}
