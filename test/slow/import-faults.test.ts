// Uploads with invalid files, a full disk, cut connections and `kill -9`.
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/open-database.ts';
import type { Client, Headed, Json } from '../support/client.ts';
import { asAdmin, databaseConfig, databaseEnv } from '../support/database.ts';
import { createFleet, newVin, newVins, uploadForm } from '../support/factories.ts';
import { spawnGateway, startGateway, testIssuer } from '../support/gateway.ts';
import { execute } from '../support/operator.ts';
import { END, FORM_TYPE, field, file, part } from '../support/raw-form.ts';
import { mayMount, mountTmpfs } from '../support/tmpfs.ts';

const gateway = await startGateway({ settings: { LIMIT_FILE_BYTES: '1000000', LIMIT_UPLOADS: '2' } });
const acme = await gateway.as('acme');
const fleet = await createFleet(acme);
const issuer = await testIssuer();
const killed = await databaseEnv();

const named = field('fleetId', fleet.id);

/** Opens an upload whose body is sent in parts; `answer` may resolve before the end of the body. */
function begin(client: Client, query = '', headers: Headed = {}) {
  const sending = request(`${client.url}/vehicles/file${query}`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': FORM_TYPE, ...headers },
  });
  sending.on('error', () => {});
  const answer = once(sending, 'response').then(async ([response]: IncomingMessage[]) => ({
    status: response?.statusCode,
    headers: response?.headers ?? {},
    body: (await json(response as IncomingMessage)) as Json,
  }));
  answer.catch(() => {});
  return { sending, answer };
}

const send = (body: string | Buffer, headers: Headed = {}, query = '') => {
  const { sending, answer } = begin(acme, query, headers);
  sending.end(body);
  return answer;
};
const running = async (client: Client, importId: string) =>
  expect.poll(async () => (await client.get(`/imports/${importId}`)).body.state).toBe('RUNNING');
const someBytes = (sending: ClientRequest, fleetId: string, vins: string[]) =>
  sending.write(`${field('fleetId', fleetId)}${file(`vin\n${vins.join('\n')}`).slice(0, -2)}`);

describe('the caller’s faults, with nothing stored', () => {
  afterEach(async () => {
    expect(await gateway.execute(`select vin from vehicle where fleet_id = '${fleet.id}'`)).toEqual([]);
    expect(await gateway.execute('select import_id from import_batch')).toEqual([]);
  });

  const vin = newVin();
  const good = file(`${vin}\n`);
  const cases: Record<string, [body: string | Buffer, status: number, code: string, detail?: RegExp]> = {
    'a zip bomb under the name of CSV': [
      Buffer.concat([
        Buffer.from(`${named}${file('').slice(0, -2)}`),
        gzipSync(Buffer.alloc(10_000_000)),
        Buffer.from(`\r\n${END}`),
      ]),
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      /gzip/,
    ],
    'a cell of 300 kB': [
      `${named}${file(`vin,note\n${vin},${'x'.repeat(300_000)}\n`)}${END}`,
      400,
      'VALIDATION_FAILED',
      /65,536/,
    ],
    'a cell of 10 kB': [
      `${named}${file(`vin,note\n${vin},${'x'.repeat(10_000)}\n`)}${END}`,
      400,
      'VALIDATION_FAILED',
      /8,192/,
    ],
    '100,000 commas': [`${named}${file(`vin\n${','.repeat(100_000)}\n`)}${END}`, 400, 'VALIDATION_FAILED', /65,536/],
    '1,000 columns': [`${named}${file(`vin${',x'.repeat(1_000)}\n`)}${END}`, 400, 'VALIDATION_FAILED', /256 columns/],
    'a quote that is never closed': [
      `${named}${file(`vin\n"${`${vin}\n`.repeat(20_000)}`)}${END}`,
      400,
      'VALIDATION_FAILED',
      /quote/,
    ],
    'NUL bytes': [`${named}${file(`${vin}\n\0\0\0\n`)}${END}`, 415, 'UNSUPPORTED_MEDIA_TYPE', /NUL/],
    'a file over the limit': [
      `${named}${file(`${vin}\n`.repeat(60_000))}${END}`,
      413,
      'PAYLOAD_TOO_LARGE',
      /1,000,000 bytes/,
    ],
    'a file over the limit, before its fleet': [
      `${file(`${vin}\n`.repeat(60_000))}${named}${END}`,
      413,
      'PAYLOAD_TOO_LARGE',
      /1,000,000 bytes/,
    ],
    '3,000 parts': [
      `${named}${field('x', 'y').repeat(3_000)}${good}${END}`,
      400,
      'VALIDATION_FAILED',
      /too many parts/,
    ],
    '3,000 parts behind the file': [
      `${named}${good}${field('x', 'y').repeat(3_000)}${END}`,
      400,
      'VALIDATION_FAILED',
      /too many parts/,
    ],
    'a body cut off in the file': [`${named}${good.slice(0, -10)}`, 400, 'VALIDATION_FAILED', /torn/],
    'a body cut off behind the file': [`${named}${good}`, 400, 'VALIDATION_FAILED', /torn/],
    'two files': [`${named}${good}${good}${END}`, 400, 'VALIDATION_FAILED', /too many parts/],
    'two files, before their fleet': [`${good}${good}${named}${END}`, 400, 'VALIDATION_FAILED', /too many parts/],
    'a part with a broken header': [`${named}${part('broken', '')}${END}`, 400, 'VALIDATION_FAILED'],
    'no file': [`${named}${END}`, 400, 'VALIDATION_FAILED', /is required: the file/],
    'an empty file': [`${named}${file('')}${END}`, 400, 'VALIDATION_FAILED', /no rows/],
    'a header alone': [`${named}${file('vin\n')}${END}`, 400, 'VALIDATION_FAILED', /no rows/],
    'a header without a column of VINs': [
      `${named}${file('plate\nB-X\n')}${END}`,
      400,
      'VALIDATION_FAILED',
      /holds VINs/,
    ],
    'text for a file': [`${named}${field('vins', vin)}${END}`, 400, 'VALIDATION_FAILED', /must be a file/],
    '__proto__ for a field': [`${field('__proto__', fleet.id)}${good}${END}`, 400, 'FLEET_ID_MISSING'],
    'fleetId[__proto__] for a field': [
      `${field('fleetId[__proto__][x]', fleet.id)}${good}${END}`,
      400,
      'FLEET_ID_MISSING',
    ],
    'no fleet': [`${good}${END}`, 400, 'FLEET_ID_MISSING'],
    'an unknown fleet': [`${field('fleetId', crypto.randomUUID())}${good}${END}`, 404, 'FLEET_NOT_FOUND'],
    'no form at all': ['', 400, 'VALIDATION_FAILED', /torn/],
  };
  for (const [name, [body, status, code, detail = /./]] of Object.entries(cases)) {
    test(name, async () => {
      const answer = await send(body);
      expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
      expect(answer.body.detail).toMatch(detail);
    });
  }

  test('another content type', async () => {
    expect(await send(`${vin}\n`, { 'content-type': 'image/png' })).toMatchObject({ status: 415 });
    expect(await send('', { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400 });
  });

  test('a compressed body', async () => {
    const body = gzipSync(`${named}${good}${END}`);
    const { status } = await send(body, { 'content-encoding': 'gzip' });
    expect([400, 415]).toContain(status);
  });

  test('an invalid importId, an invalid mode', async () => {
    expect(await send(`${named}${good}${END}`, {}, '?importId=1')).toMatchObject({ status: 400 });
    expect(await send(`${named}${good}${END}`, {}, '?mode=most')).toMatchObject({ status: 400 });
  });

  test('more concurrent uploads than a company may have', async () => {
    const ids = [crypto.randomUUID(), crypto.randomUUID()] as const;
    const open = ids.map((id) => begin(acme, `?importId=${id}`));
    for (const { sending } of open) someBytes(sending, fleet.id, newVins(20_000));
    for (const id of ids) await running(acme, id);
    const third = await send(`${named}${good}${END}`);
    expect(third).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMITED', detail: expect.stringContaining('At most 2') },
    });
    expect(Number(third.headers['retry-after'])).toBeGreaterThan(0);
    const globex = await gateway.as('globex');
    const theirs = await createFleet(globex);
    expect((await globex.post('/vehicles/file', uploadForm(theirs.id, newVin()))).status).toBe(201);
    expect(await send(`${named}${good}${END}`, {}, `?importId=${ids[0]}`)).toMatchObject({
      status: 409,
      body: { code: 'IDEMPOTENCY_IN_PROGRESS' },
    });
    for (const { sending } of open) sending.destroy();
    for (const id of ids) {
      await expect.poll(async () => (await acme.get(`/imports/${id}`)).body.state).toBe('FAILED');
    }
  });

  test('a fleet deleted during its upload', async () => {
    const doomed = await createFleet(acme);
    const importId = crypto.randomUUID();
    const { sending, answer } = begin(acme, `?importId=${importId}`);
    someBytes(sending, doomed.id, newVins(20_000));
    await running(acme, importId);
    expect((await acme.delete(`/fleets/${doomed.id}`)).status).toBe(200);
    sending.end(`\r\n${END}`);
    expect(await answer).toMatchObject({ status: 404, body: { code: 'FLEET_NOT_FOUND' } });
  });

  test('rows that the database lost', async () => {
    const importId = crypto.randomUUID();
    const { sending, answer } = begin(acme, `?importId=${importId}`);
    someBytes(sending, fleet.id, newVins(20_000));
    await expect
      .poll(() => gateway.execute(`select from import_batch where import_id = '${importId}'`))
      .not.toEqual([]);
    // A crash of the database empties an unlogged table.
    await gateway.execute('truncate import_batch');
    sending.end(`\r\n${END}`);
    expect(await answer).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(await acme.get(`/imports/${importId}`)).toMatchObject({ body: { state: 'FAILED', created: 0 } });
  });
});

test.runIf(mayMount())('a file before its fleet finds no room on disk: 503, and later it is stored', async () => {
  const folder = join(inject('database').folder, 'room');
  onTestFinished(mountTmpfs(folder, '100k'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const own = await createFleet(acme);
  const form = (vins: string[]) => `${file(`vin\n${vins.join('\n')}\n`)}${field('fleetId', own.id)}${END}`;
  expect(await send(form(newVins(20_000)))).toMatchObject({
    status: 503,
    headers: { 'retry-after': '2' },
    body: { code: 'UNAVAILABLE', detail: expect.stringMatching(/no room for the file/) },
  });
  expect(await send(form(newVins(1_000)))).toMatchObject({ status: 201, body: { summary: { created: 1_000 } } });
});

test.each(['partial', 'atomic'])(
  'an interrupted upload is failed, and can be sent again with the same importId (%s)',
  async (mode) => {
    const own = await createFleet(acme);
    const query = `?mode=${mode}&importId=${crypto.randomUUID()}`;
    const importId = query.slice(-36);
    const vins = newVins(20_000);
    const { sending } = begin(acme, query);
    someBytes(sending, own.id, vins);
    await running(acme, importId);
    sending.destroy();
    const state = async () => (await acme.get(`/imports/${importId}`)).body.state;
    await expect.poll(state).toBe('FAILED');
    expect(await acme.get(`/fleets/${own.id}`)).toMatchObject({ body: { vehicleCount: 0 } });
    const again = await acme.post(`/vehicles/file${query}`, uploadForm(own.id, vins.join('\n')));
    expect(again).toMatchObject({ status: 201, body: { importId, summary: { created: 20_000 } } });
  },
);

describe.skipIf(gateway.database.kind === 'embedded')('a database whose connections are cut', () => {
  /** Cuts connections, as a restart does; the pool's next ones are new. */
  const cut = (which: string) =>
    execute(
      asAdmin(gateway.env),
      `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and ${which}`,
    );

  test.each(['partial', 'atomic'])('between two batches: the whole file is stored, or nothing (%s)', async (mode) => {
    const own = await createFleet(acme);
    const importId = crypto.randomUUID();
    const vins = newVins(20_000);
    const { sending, answer } = begin(acme, `?mode=${mode}&importId=${importId}`);
    someBytes(sending, own.id, vins);
    await running(acme, importId);
    await cut('true');
    sending.end(`\r\n${END}`);
    const { status } = await answer;
    expect([201, 503]).toContain(status);
    const count = (await acme.get(`/fleets/${own.id}`)).body.vehicleCount;
    expect(count).toBe(status === 201 ? 20_000 : 0);
    // Without an importId, the second upload need not wait for the lease of the first.
    const again = await acme.post(`/vehicles/file?mode=${mode}`, uploadForm(own.id, vins.join('\n')));
    expect(again).toMatchObject({ status: 201, body: { summary: { created: 20_000 - count, existing: count } } });
  });

  test.each(['partial', 'atomic'])('during storing: the fleet does not change (%s)', async (mode) => {
    const own = await createFleet(acme);
    const importId = crypto.randomUUID();
    const vins = newVins(40_000);
    const { sending, answer } = begin(acme, `?mode=${mode}&importId=${importId}`);
    someBytes(sending, own.id, vins);
    sending.end(`\r\n${END}`);
    await expect
      .poll(async () => (await cut(`query ~ '^\\s*insert into "vehicle"'`)).length, { interval: 5 })
      .toBeGreaterThan(0);
    expect(await answer).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(await acme.get(`/fleets/${own.id}`)).toMatchObject({ body: { vehicleCount: 0 } });
    expect(await acme.get(`/imports/${importId}`)).toMatchObject({ body: { state: 'FAILED', created: 0 } });
    const again = await acme.post(
      `/vehicles/file?mode=${mode}&importId=${importId}`,
      uploadForm(own.id, vins.join('\n')),
    );
    expect(again).toMatchObject({ status: 201, body: { summary: { created: 40_000 } } });
  });
});

test('neither a long import nor a large read blocks other requests', async () => {
  const busy = await spawnGateway({ ...killed, WORKERS: 'off' }, killed.DATABASE_URL ? { issuer } : {});
  const client = busy.as('demo');
  /** The 98th percentile of /livez in milliseconds during `work`; the slowest 2 % are left to other load. */
  async function livezDuring(work: Promise<unknown>): Promise<number> {
    let ended = false;
    const over = work.finally(() => {
      ended = true;
    });
    const times: number[] = [];
    while (!ended) {
      const started = performance.now();
      expect((await fetch(`${busy.url}/livez`)).status).toBe(200);
      times.push(performance.now() - started);
      await delay(10);
    }
    await over;
    return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.98)] ?? Number.POSITIVE_INFINITY;
  }

  const { id } = await createFleet(client);
  const upload = client.post('/vehicles/file', uploadForm(id, newVins(200_000).join('\n')));
  expect(await livezDuring(upload)).toBeLessThan(150);
  expect(await upload).toMatchObject({ status: 201, body: { summary: { created: 200_000 } } });

  /** Reads the response as it arrives: parsing it would block this process. */
  async function drained(path: string, init: RequestInit = {}): Promise<number> {
    const headers = { ...client.headers, 'content-type': 'application/json' };
    const answer = await fetch(busy.url + path, { ...init, headers });
    let bytes = 0;
    for await (const piece of answer.body ?? []) bytes += piece.length;
    return answer.ok ? bytes : 0;
  }
  const wide = `{ fleet(id: "${id}") { vehicles(first: 1000) { nodes { id vin warnings eligibility { status attempts } } } } }`;
  const query = { method: 'POST', body: JSON.stringify({ query: wide }) };
  const reads = Promise.all([
    drained(`/fleets/${id}/vehicles`),
    drained(`/fleets/${id}/vehicles`),
    ...Array.from({ length: 20 }, () => drained('/graphql', query)),
  ]);
  expect(await livezDuring(reads)).toBeLessThan(150);
  for (const bytes of await reads) expect(bytes).toBeGreaterThan(50_000);
}, 180_000);

test('a killed process leaves the fleet unchanged during an upload, and the file can be sent again', async () => {
  const settings = killed.DATABASE_URL ? killed : { ...killed, WORKERS: 'off' };
  const identity = killed.DATABASE_URL ? { issuer } : {};
  const first = await spawnGateway(settings, identity);
  const before = first.as('demo');
  const own = await createFleet(before);
  const importId = crypto.randomUUID();
  const vins = newVins(20_000);
  const { sending } = begin(before, `?importId=${importId}`);
  someBytes(sending, own.id, vins);
  await running(before, importId);
  await first.stop('SIGKILL');

  // Ends the lease, as after half a minute.
  const database = await openDatabase(databaseConfig(killed));
  await database.orm.em.fork().execute('update import set due_at = now()');
  await database.close();

  const second = await spawnGateway(settings, identity);
  const after = second.as('demo');
  expect(await after.get(`/fleets/${own.id}`)).toMatchObject({ body: { vehicleCount: 0 } });
  const again = await after.post(`/vehicles/file?importId=${importId}`, uploadForm(own.id, vins.join('\n')));
  expect(again).toMatchObject({ status: 201, body: { importId, summary: { created: 20_000, existing: 0 } } });
  expect(await after.get(`/imports/${importId}`)).toMatchObject({ body: { state: 'COMPLETED' } });
}, 180_000);

test('GET /imports/{id}/events: may be opened before the upload, and ends with the final counts', async () => {
  const own = await createFleet(acme);
  const importId = crypto.randomUUID();
  const url = `${gateway.url}/imports/${importId}/events`;
  const stream = fetch(url, { headers: acme.headers });
  const { followers } = gateway.services;
  await expect.poll(() => followers.count).toBe(1);
  const { sending, answer } = begin(acme, `?importId=${importId}`);
  someBytes(sending, own.id, newVins(20_000));
  await running(acme, importId);
  sending.end(`\nSHORT\r\n${END}`);
  expect(await answer).toMatchObject({ status: 201 });
  const response = await stream;
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.includes('data:'));
  const states = frames.map((frame) => JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? ''));
  expect(states[0]).toMatchObject({ id: importId, state: 'RUNNING' });
  expect(states.at(-1)).toMatchObject({
    state: 'COMPLETED',
    received: 20_001,
    created: 20_000,
    existing: 0,
    rejected: 1,
  });
  expect(frames.at(-1)).toMatch(/^id: ended\nevent: progress\n/);
  expect((await fetch(url, { headers: { ...acme.headers, 'Last-Event-ID': 'ended' } })).status).toBe(204);
  await expect.poll(() => followers.count).toBe(0);
});

test('GET /imports/{id}/events: forgets clients that leave, hides other companies; an invalid id is 404', async () => {
  const leaving = new AbortController();
  const url = `${gateway.url}/imports/${crypto.randomUUID()}/events`;
  const stream = await fetch(url, { headers: acme.headers, signal: leaving.signal });
  const { followers } = gateway.services;
  expect(followers.count).toBe(1);
  leaving.abort();
  await stream.text().catch(() => {});
  await expect.poll(() => followers.count).toBe(0);
  expect((await acme.get('/imports/none/events')).status).toBe(404);

  const importId = crypto.randomUUID();
  await acme.post(`/vehicles/file?importId=${importId}`, uploadForm((await createFleet(acme)).id, newVin()));
  const globex = await gateway.as('globex');
  const theirs = new AbortController();
  const watching = await fetch(`${gateway.url}/imports/${importId}/events`, {
    headers: globex.headers,
    signal: theirs.signal,
  });
  setTimeout(() => theirs.abort(), 500);
  expect(await text(watching.body as never).catch(() => '')).not.toContain('data:');
});

test('a list stops when its reader leaves, and waits for a slow reader without a transaction', async () => {
  const own = await createFleet(acme);
  await acme.post('/vehicles/file', uploadForm(own.id, newVins(40_000).join('\n')));
  const slow = await fetch(`${gateway.url}/fleets/${own.id}/vehicles`, { headers: acme.headers });
  const reader = slow.body?.getReader();
  await reader?.read();
  // On the embedded database an open transaction would block this statement for ever.
  await gateway.execute(`update fleet set vat = 'DE2' where id = '${own.id}'`);
  if (gateway.database.kind === 'postgresql') {
    expect(
      await gateway.execute(
        `select from pg_stat_activity where datname = current_database() and state like 'idle in%'`,
      ),
    ).toEqual([]);
  }
  let bytes = 0;
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
    bytes += piece.value.length;
  expect(bytes).toBeGreaterThan(40_000 * 100);

  const leaving = await fetch(`${gateway.url}/fleets/${own.id}/vehicles`, { headers: acme.headers });
  await leaving.body?.cancel();
  if (gateway.database.kind === 'postgresql') {
    const reading = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and state <> 'idle' and query like '%vehicle v%'`;
    await expect.poll(() => gateway.execute(reading)).toEqual([]);
  }
  expect((await acme.get(`/fleets/${own.id}`)).status).toBe(200);
});
