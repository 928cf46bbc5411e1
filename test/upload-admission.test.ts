import { once } from 'node:events';
import { mkdtemp, readdir, readlink, stat } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import type { Client, Json } from './support/client.ts';
import { createFleet, newVin } from './support/factories.ts';
import { startGateway, testIssuer } from './support/gateway.ts';
import { END, FORM_TYPE, field, file } from './support/raw-form.ts';
import { until } from './support/until.ts';

const FILE_BYTES = 1024 * 1024;
const gateway = await startGateway({
  issuer: await testIssuer(),
  settings: { AUTH_SCOPES: 'on', LIMIT_UPLOADS: '2', LIMIT_FILE_BYTES: String(FILE_BYTES) },
});
const as = (company: string, scope = 'fleets:read fleets:write') => gateway.as(company, { scope });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(inject('database').folder, 'uploads-'));
  vi.stubEnv('TMPDIR', folder);
});
afterAll(() => void vi.unstubAllEnvs());

/** Sizes of temporary files; on Linux only. */
async function kept(): Promise<number[]> {
  const open = await readdir('/proc/self/fd').catch(() => []);
  const sizes = open.map(async (fd) => {
    const path = await readlink(`/proc/self/fd/${fd}`).catch(() => '');
    const size = path.startsWith(join(folder, 'fleet-gateway-upload-'))
      ? (await stat(`/proc/self/fd/${fd}`)).size
      : null;
    return size === null ? [] : [size];
  });
  return (await Promise.all(sizes.map((size) => size.catch(() => [])))).flat();
}

interface Upload {
  asked: ClientRequest;
  answer: Promise<{ status: number | undefined; body: Json }>;
}

/** Begins an upload whose file precedes its fleet: sends `bytes` of the file, and not its end. */
function begin({ headers }: Client, bytes: number, query = ''): Upload {
  const asked = request(`${gateway.url}/vehicles/file${query}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': FORM_TYPE },
    agent: false,
  });
  const answer = once(asked, 'response').then(async ([response]) => ({
    status: response.statusCode,
    body: await json(response),
  }));
  answer.catch(() => {});
  asked.on('error', () => {});
  onTestFinished(() => void asked.destroy());
  // Cuts the line break that `file` appends.
  asked.write(file(`vin\n${newVin()}\n`.padEnd(bytes, '\n')).slice(0, -2));
  return { asked, answer };
}

const linux = process.platform === 'linux';

test.runIf(linux)('a token without the scope is refused before any byte is stored', async () => {
  const upload = begin(await as('reader', 'fleets:read'), 300_000);
  expect(await upload.answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  expect(await kept()).toEqual([]);
});

test.runIf(linux)('LIMIT_UPLOADS uploads may wait, and the next is refused at once', async () => {
  const acme = await as('acme');
  const fleet = await createFleet(acme);
  const first = [begin(acme, 100_000), begin(acme, 100_000)];
  await until(async () => ((await kept()).length === 2 ? true : null));
  const refused = Array.from({ length: 10 }, () => begin(acme, 300_000));
  for (const { answer } of refused) {
    expect(await answer).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  }
  expect((await kept()).length).toBe(2);
  // Another company has its own places.
  const other = begin(await as('globex'), 100_000);
  await until(async () => ((await kept()).length === 3 ? true : null));
  other.asked.destroy();
  for (const { asked } of first) asked.end(`\r\n${field('fleetId', fleet.id)}${END}`);
  for (const { answer } of first) expect(await answer).toMatchObject({ status: 201 });
  await until(async () => ((await kept()).length === 0 ? true : null));
  const next = begin(acme, 1_000);
  next.asked.end(`\r\n${field('fleetId', fleet.id)}${END}`);
  expect(await next.answer).toMatchObject({ status: 201 });
});

test.runIf(linux)('the total size of waiting files is limited for all companies together', async () => {
  const uploads = [];
  for (let at = 0; at < 12; at++) uploads.push(begin(await as(`company-${at}`), FILE_BYTES * 0.75));
  const answered = await Promise.race(uploads.map(({ answer }) => answer));
  expect(answered).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  const sum = async () => (await kept()).reduce((total, size) => total + size, 0);
  await until(async () => (await sum()) > 0);
  expect(await sum()).toBeLessThanOrEqual(8 * FILE_BYTES);
  for (const { asked } of uploads) asked.destroy();
  await until(async () => ((await kept()).length === 0 ? true : null));
  // Freed space can be used again.
  const acme = await as('acme');
  const again = begin(acme, FILE_BYTES * 0.75);
  again.asked.end(`\r\n${field('fleetId', (await createFleet(acme)).id)}${END}`);
  expect(await again.answer).toMatchObject({ status: 201 });
});

test('an unknown fleet is refused before the file is read', async () => {
  const upload = begin(await as('acme'), 100_000, `?fleetId=${crypto.randomUUID()}`);
  expect(await upload.answer).toMatchObject({ status: 404, body: { code: 'FLEET_NOT_FOUND' } });
});
