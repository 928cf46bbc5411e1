/**
 * What others notice of an upload: small reads and writes of the same fleet while a million rows go into it.
 *
 * Run:  npx node bench/import-neighbours.ts [--rows 1000000] [--seconds 20] [--pace 5]
 * Read: each request is sent alone, `pace` milliseconds after the answer to the one before, first with nobody else
 * about, then during the upload. "ratio" is p99 during the upload against p99 before it; above 2, somebody suffers. The
 * upload, the database and these requests share the machine: with two cores or fewer, part of it is waiting for a core.
 */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openWorld, vehicleOf } from './import-world.ts';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
    pace: { type: 'string', default: '5' },
  },
});
const ROWS = Number(options.rows);
const CHUNK_ROWS = 4_000;
/** VINs that the upload does not have. */
const NEIGHBOURS = 1;

const world = await openWorld();
// Made beforehand: who measures must not be busy.
const file = join(world.folder, 'vins.csv');
await pipeline(Readable.from(lines()), createWriteStream(file));
let added = 0;
const small: Record<string, () => Promise<Response>> = {
  'GET a page of 50 vehicles': () => call('GET', `/fleets/${world.fleet.id}/vehicles?limit=50`),
  'GET an eligibility': () => call('GET', `/vehicles/eligibility/${vehicleOf(0, NEIGHBOURS).vin}`),
  'PATCH the fleet': () => call('PATCH', `/fleets/${world.fleet.id}`, { vat: `DE${added}` }),
  'POST one vehicle': () =>
    call('POST', '/vehicles', { fleetId: world.fleet.id, vins: [vehicleOf(added++, NEIGHBOURS).vin] }),
};

try {
  for (let at = 0; at < 100; at++) await small['POST one vehicle']?.();
  const before = await measure(delay(Number(options.seconds) * 1000));
  const upload = world.upload(file);
  const during = await measure(upload);
  console.log(`${await upload} vehicles were created meanwhile`);
  for (const name of Object.keys(small)) {
    const [usual, now] = [p99(before.get(name) ?? []), p99(during.get(name) ?? [])];
    const count = during.get(name)?.length;
    console.log(
      `${name.padEnd(26)} p99 ${usual.toFixed(1)} ms before, ${now.toFixed(1)} ms during (${count} requests)   ratio ${(now / usual).toFixed(2)}`,
    );
  }
} finally {
  await world.close();
}

/** Milliseconds of each small request until `end`. */
async function measure(end: Promise<unknown>): Promise<Map<string, number[]>> {
  const times = new Map(Object.keys(small).map((name) => [name, [] as number[]]));
  let ended = false;
  const over = end.finally(() => {
    ended = true;
  });
  while (!ended) {
    for (const [name, request] of Object.entries(small)) {
      const started = performance.now();
      const response = await request();
      if (!response.ok && response.status !== 400 && response.status !== 409)
        throw new Error(`${name}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      times.get(name)?.push(performance.now() - started);
      await delay(Number(options.pace));
    }
  }
  await over;
  return times;
}

function call(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${world.url}${path}`, {
    method,
    headers: { authorization: world.authorization(), 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function* lines(): Generator<string> {
  yield 'vin\n';
  for (let first = 0; first < ROWS; first += CHUNK_ROWS) {
    yield Array.from({ length: CHUNK_ROWS }, (_, at) => `${vehicleOf(first + at).vin}\n`).join('');
  }
}

function p99(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}
