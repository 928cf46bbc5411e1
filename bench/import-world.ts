import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { startIssuer } from '../test/support/identity-provider.ts';
import { startServer } from '../test/support/postgres-server.ts';
import { startArguments } from './gateway-process.ts';

export const COMPANY = 'acme';
const CLOCK_TICKS = 100;
const BOUNDARY = 'part-of-a-form';

/** A PostgreSQL that waits for its disk as in earnest, unless told otherwise, the gateway as a process of its own, one fleet, and a folder for files. */
export async function openWorld({ fsync = 'on' } = {}) {
  const server = await startServer({ fsync, synchronous_commit: 'on', full_page_writes: 'on' });
  const folder = mkdtempSync(join(tmpdir(), 'fleet-gateway-bench-'));
  const issuer = await startIssuer();
  const gateway = spawn(process.execPath, startArguments(), {
    env: {
      ...process.env,
      PORT: '0',
      DATABASE_URL: server.url,
      AUTH_ISSUER: issuer.issuer,
      AUTH_AUDIENCE: issuer.audience,
      CONTRACTS_AUTH: 'required',
      LIMIT_FILE_BYTES: String(2 ** 40),
      // The import alone is measured, not the verification of a million vehicles that follows it.
      WORKERS: 'off',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await printedUrl(gateway);
  const database = new pg.Client(server.url);
  await database.connect();
  const authorization = () => `Bearer ${issuer.sign({ company: COMPANY })}`;
  const answer = await fetch(`${url}/fleets`, {
    method: 'POST',
    headers: { authorization: authorization(), 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Bench', companyAddress: 'Here 1', email: 'fleet@acme.example', vat: 'DE1' }),
  });
  const fleet = (await answer.json()) as { id: string };
  return {
    url,
    fleet,
    folder,
    database,
    databaseUrl: server.url,
    authorization,
    pid: gateway.pid as number,
    /** Sends the file (a path, or its pieces as they are made) and gives how many vehicles are new. */
    async upload(file: string | Iterable<string>): Promise<number> {
      const form = request(`${url}/vehicles/file`, {
        method: 'POST',
        headers: { authorization: authorization(), 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
      });
      const answered = once(form, 'response');
      const pieces = typeof file === 'string' ? createReadStream(file) : Readable.from(file);
      await pipeline(formOf(fleet.id, pieces), form);
      const [response] = await answered;
      const body = (await json(response)) as { summary?: { created: number } };
      if (!body.summary) throw new Error(JSON.stringify(body));
      return body.summary.created;
    },
    /** No vehicles any more, as the planner knows, and nothing left to be written by the next who comes. */
    async empty(): Promise<void> {
      await database.query('truncate vehicle, vehicle_tally, event, import_rejection, import, import_batch cascade');
      await database.query('analyze vehicle');
      await database.query('checkpoint');
    },
    async close(): Promise<void> {
      gateway.kill('SIGTERM');
      await database.end();
      await issuer.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function* formOf(fleetId: string, file: AsyncIterable<Buffer | string>) {
  const part = (head: string) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`;
  yield `${part('name="fleetId"')}${fleetId}\r\n`;
  yield part('name="vins"; filename="vins.csv"\r\nContent-Type: text/csv');
  yield* file;
  yield `\r\n--${BOUNDARY}--\r\n`;
}

async function printedUrl(gateway: ChildProcess): Promise<string> {
  let output = '';
  for await (const chunk of gateway.stdout ?? []) {
    output += chunk;
    const [, url] = /ready on (http\S+)/.exec(output) ?? [];
    if (url) return url;
  }
  throw new Error(`The gateway did not start:\n${output}`);
}

/** CPU time of a process so far, in microseconds (Linux). */
export function cpuMicroseconds(pid: number): number {
  const [user = 0, system = 0] =
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? [];
  return ((user + system) * 1_000_000) / CLOCK_TICKS;
}

/** The most memory a process has held since it began, in MB (Linux). */
export function peakMegabytes(pid: number): number {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
