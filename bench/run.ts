/**
 * `npm run bench [-- --rounds 5 --seconds 3 --others 1000000 --only W5 --peer name=http://…]`
 * Starts PostgreSQL, seeds it, starts the floor and the gateway, checks that both give the same data, then measures
 * them in turns. The ratio within a round is what counts: machines are shared, absolute figures drift.
 * Columns: requests per second; ratio to the floor (median of the rounds); milliseconds at p50 and p99; CPU time of
 * the process per request; its peak resident memory; of large answers the milliseconds to the first byte of the body.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { openDatabase } from '../src/entities/database.ts';
import { startIssuer } from '../test/support/identity-provider.ts';
import { startServer } from '../test/support/postgres-server.ts';
import { startArguments } from './gateway-process.ts';
import { seed } from './seed.ts';
import { companyOf, type Workload, workloads } from './workloads.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    others: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
    peer: { type: 'string', multiple: true, default: [] },
  },
});

interface Contender {
  name: string;
  url: string;
  process?: ChildProcess;
}

interface Sample {
  rate: number;
  p50: number;
  p99: number;
  /** Microseconds per request; NaN for a peer that was not started here. */
  cpu: number;
}

const CLOCK_TICKS = 100;
const FIRST_BYTES = 9;

const cpuMicroseconds = ({ process: child }: Contender): number => {
  if (!child) return Number.NaN;
  const [user = 0, system = 0] =
    readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? [];
  return ((user + system) * 1_000_000) / CLOCK_TICKS;
};

const peakMegabytes = ({ process: child }: Contender): number => {
  const [, kilobytes] = (child && /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))) ?? [];
  return Number(kilobytes) / 1024;
};

const median = (numbers: number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

const server = await startServer();
const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-bench-'));
const issuer = await startIssuer();
const children: ChildProcess[] = [];
try {
  const database = await openDatabase({ DATABASE_URL: server.url, DATABASE_READ_URLS: [], DATA_DIR: folder });
  await database.close();
  console.log('seeding …');
  const seeded = await seed(server.url, Number(options.others));
  const contenders: Contender[] = [
    await start('floor', 4801, ['bench/floor.ts', server.url, '4801'], {}),
    await start('gateway', 4802, startArguments(), {
      PORT: '4802',
      DATABASE_URL: server.url,
      AUTH_ISSUER: issuer.issuer,
      AUTH_AUDIENCE: issuer.audience,
      CONTRACTS_AUTH: 'required',
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
    }),
    ...options.peer.map((peer) => ({ name: peer.split('=')[0] ?? '', url: peer.slice(peer.indexOf('=') + 1) })),
  ];
  for (const workload of workloads(seeded).filter(({ name }) => name.startsWith(options.only))) {
    await checkSame(workload, contenders);
    await report(workload, contenders, await measure(workload, contenders));
  }
} finally {
  for (const child of children) child.kill('SIGTERM');
  await issuer.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function start(name: string, port: number, args: string[], env: Record<string, string>): Promise<Contender> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.push(child);
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 100; tries++) {
    if (
      await fetch(`${url}/fleets`).then(
        (answer) => answer.text(),
        () => null,
      )
    )
      return { name, url, process: child };
    await delay(100);
  }
  throw new Error(`${name} does not answer`);
}

function requestOf(workload: Workload) {
  const token = issuer.sign({ company: companyOf(workload) });
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (workload.body) headers['content-type'] = 'application/json';
  return {
    method: workload.body ? ('POST' as const) : ('GET' as const),
    headers,
    ...(workload.body !== undefined && { body: JSON.stringify(workload.body) }),
  };
}

/** A benchmark of two different answers would measure nothing. What is new in every answer is left out. */
async function checkSame(workload: Workload, contenders: Contender[]): Promise<void> {
  const [floor, ...others] = await Promise.all(
    contenders.map(async ({ url }) => {
      const answer = await fetch(`${url}${workload.path}`, requestOf(workload));
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${workload.name}: ${answer.status} ${text.slice(0, 300)}`);
      return JSON.parse(
        text.replaceAll(/"(id|createdAt|updatedAt)"\s*:\s*"[^"]*"/g, workload.name.startsWith('W7') ? '"$1":""' : '$&'),
      );
    }),
  );
  for (const other of others) deepStrictEqual({ ...other, extensions: undefined }, { ...floor, extensions: undefined });
}

async function measure(workload: Workload, contenders: Contender[]): Promise<Map<Contender, Sample[]>> {
  const samples = new Map(contenders.map((contender) => [contender, [] as Sample[]]));
  for (let round = 0; round <= Number(options.rounds); round++) {
    for (const contender of contenders) {
      const before = cpuMicroseconds(contender);
      const result = await autocannon({
        url: `${contender.url}${workload.path}`,
        ...requestOf(workload),
        connections: workload.large ? 2 : 16,
        duration: workload.large ? 8 : round === 0 ? 1 : Number(options.seconds),
        timeout: 60,
      });
      if (result.non2xx || result.errors)
        throw new Error(`${workload.name}, ${contender.name}: ${result.non2xx} refusals, ${result.errors} errors`);
      const sample = {
        rate: result['2xx'] / result.duration,
        p50: result.latency.p50,
        p99: result.latency.p99,
        cpu: (cpuMicroseconds(contender) - before) / result['2xx'],
      };
      // The first round warms both up.
      if (round > 0) samples.get(contender)?.push(sample);
    }
  }
  return samples;
}

/** Milliseconds until the body of an answer begins, with nothing else to do. */
async function firstByte(workload: Workload, { url }: Contender): Promise<number> {
  const times: number[] = [];
  for (let asked = 0; asked < FIRST_BYTES; asked++) {
    const start = performance.now();
    const reader = (await fetch(`${url}${workload.path}`, requestOf(workload))).body?.getReader();
    await reader?.read();
    times.push(performance.now() - start);
    while (reader && !(await reader.read()).done);
  }
  return median(times);
}

async function report(workload: Workload, contenders: Contender[], samples: Map<Contender, Sample[]>): Promise<void> {
  const [floor] = contenders;
  const floors = (floor && samples.get(floor)) ?? [];
  for (const contender of contenders) {
    const own = samples.get(contender) ?? [];
    const of = (key: keyof Sample) => median(own.map((sample) => sample[key]));
    const ratio = median(own.map((sample, round) => sample.rate / (floors[round]?.rate ?? Number.NaN)));
    console.log(
      [
        workload.name.padEnd(38),
        contender.name.padEnd(10),
        `${of('rate').toFixed(1).padStart(9)}/s`,
        `ratio ${ratio.toFixed(2)}${contender === floor ? '' : ` (goal ${workload.goal})`}`.padEnd(22),
        `p50 ${of('p50')} ms`.padEnd(11),
        `p99 ${of('p99')} ms`.padEnd(11),
        `${of('cpu').toFixed(0)} µs CPU`.padStart(12),
        `${peakMegabytes(contender).toFixed(0)} MB`.padStart(8),
        workload.large ? `first byte ${(await firstByte(workload, contender)).toFixed(1)} ms` : '',
      ].join('  '),
    );
  }
}
