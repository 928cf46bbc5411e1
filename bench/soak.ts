/**
 * Checks that a gateway under load does not grow. Measures its capacity for some seconds, then holds half of it with
 * reads and writes by both interfaces, event streams that open and close, and verification in the background.
 * Run:  npx node bench/soak.ts [--minutes 60] [--clients 16]          (Linux)
 * Read: a line each tenth of the time: requests per second, failures, resident memory, open file descriptors and
 * database connections. The last line is the drift of the memory from the second tenth (the first warms up) to the
 * last; a drift of 10 % or more, a failure, or more descriptors or connections than before end with exit code 1.
 */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { vehicleOf } from './import-files.ts';
import { median, megabytes } from './support/measure.ts';
import { openWorld } from './support/world.ts';

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, clients: { type: 'string', default: '16' } },
});
const TENTHS = 10;
const PEAK_SECONDS = 15;
const SAMPLE_MS = 1_000;
const LIFETIME_REQUESTS = 5;

interface Sample {
  megabytes: number;
  descriptors: number;
  connections: number;
}

await using world = await openWorld();
const gateway = await world.gateway();
const counts = { done: 0, failed: new Map<string, number>() };
let vins = 0;
const token = { minute: 0, headers: {} };
const peak = (await load(PEAK_SECONDS * 1000, 0)) / PEAK_SECONDS;
const rate = peak / 2;
console.log(`peak ${peak.toFixed(0)} requests/s; ${options.minutes} minutes at ${rate.toFixed(0)}`);
const tenths: Sample[] = [];
for (let tenth = 0; tenth < TENTHS; tenth++) {
  const ms = (Number(options.minutes) * 60_000) / TENTHS;
  const samples: Sample[] = [];
  const sampling = setInterval(async () => samples.push(await sample()), SAMPLE_MS);
  const done = await load(ms, rate);
  clearInterval(sampling);
  const typical = medianOf(samples);
  tenths.push(typical);
  console.log(
    `${tenth + 1}/${TENTHS}  ${(done / (ms / 1000)).toFixed(0)} requests/s, failed ${[...counts.failed].join(' ') || 'none'}, ` +
      `${typical.megabytes.toFixed(0)} MB, ${typical.descriptors} descriptors, ${typical.connections} connections`,
  );
}
const [first, last] = [tenths[1], tenths.at(-1)];
if (first && last) {
  const drift = (last.megabytes / first.megabytes - 1) * 100;
  console.log(`memory ${drift.toFixed(1)} % from the second tenth to the last; ${counts.done} requests in all`);
  if (
    drift >= 10 ||
    counts.failed.size > 0 ||
    last.descriptors > first.descriptors + 5 ||
    last.connections > first.connections
  )
    process.exitCode = 1;
}

/** Sends requests from all clients, together `rate` per second (0: unlimited); returns the number of responses. */
async function load(ms: number, rate: number): Promise<number> {
  const before = counts.done;
  const end = performance.now() + ms;
  const clients = Number(options.clients);
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const gap = rate > 0 ? (clients * 1000) / rate : 0;
      let next = performance.now() + Math.random() * gap;
      for (let turn = index; performance.now() < end; turn++) {
        next += gap * (await step(turn));
        const wait = next - performance.now();
        if (wait > 0) await delay(wait);
        // A late client skips its backlog, or the rate would be exceeded.
        else next = performance.now();
      }
    }),
  );
  return counts.done - before;
}

/** Sends one or more requests of the mix, by turn; returns their number. */
async function step(turn: number): Promise<number> {
  const acts = [
    () => call('GET', '/fleets?limit=20'),
    () =>
      query('{ fleets(first: 10) { nodes { id name vehicles(first: 5) { nodes { vin eligibility { status } } } } } }'),
    () => call('GET', '/events?limit=20'),
    () => query('{ contracts(first: 10) { totalCount nodes { id } } manufacturers { id } }'),
    lifetime,
    follow,
  ];
  const act = acts[turn % acts.length] ?? lifetime;
  await act();
  return act === lifetime ? LIFETIME_REQUESTS : 1;
}

/** Creates, reads and deletes a fleet with vehicles, so that the database does not grow. */
async function lifetime(): Promise<void> {
  const fleet = await call('POST', '/fleets', {
    name: 'Soak',
    companyAddress: 'Here 1',
    email: 'fleet@example.com',
    vat: 'DE1',
  });
  if (!fleet?.id) return;
  const added = Array.from({ length: 5 }, () => vehicleOf(vins++).vin);
  await call('POST', '/vehicles', { fleetId: fleet.id, vins: added });
  await call('GET', `/fleets/${fleet.id}/vehicles`);
  await call('PATCH', `/fleets/${fleet.id}`, { name: 'Soaked' });
  await call('DELETE', `/fleets/${fleet.id}`);
}

/** Opens a stream of events and closes it after its first bytes. */
async function follow(): Promise<void> {
  const left = new AbortController();
  const answer = await fetch(`${gateway.url}/events/stream`, { headers: headers(), signal: left.signal });
  await answer.body?.getReader().read();
  left.abort();
  count(answer.ok ? null : String(answer.status));
}

function query(text: string) {
  return call('POST', '/graphql', { query: text });
}

async function call(method: string, path: string, body?: unknown) {
  try {
    const answer = await fetch(gateway.url + path, {
      method,
      headers: { ...headers(), 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = jsonOf(text);
    const shown = `${method} ${path} ${answer.status}`;
    count(
      answer.ok && json && !json.errors ? null : json ? shown : `${shown} ${text.length} bytes: ${text.slice(0, 80)}`,
    );
    return json;
  } catch (error) {
    count(String(error));
    return null;
  }
}

function jsonOf(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function count(fault: string | null): void {
  counts.done += 1;
  if (fault) counts.failed.set(fault, (counts.failed.get(fault) ?? 0) + 1);
}

/** Renews the token every minute, as clients do. */
function headers(): Record<string, string> {
  const minute = Math.floor(Date.now() / 60_000);
  if (minute !== token.minute)
    Object.assign(token, { minute, headers: { authorization: `Bearer ${world.newToken('soak', { jti: minute })}` } });
  return token.headers;
}

async function sample(): Promise<Sample> {
  const [row] = await world.sql(
    `select count(*)::int as count from pg_stat_activity where application_name = 'fleet-gateway'`,
  );
  return {
    megabytes: megabytes(gateway.pid, 'VmRSS'),
    descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length,
    connections: row.count,
  };
}

function medianOf(samples: Sample[]): Sample {
  const of = (key: keyof Sample) => median(samples.map((one) => one[key]));
  return { megabytes: of('megabytes'), descriptors: of('descriptors'), connections: of('connections') };
}
