import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { contextOf } from '../src/core/context.ts';
import { upkeep } from '../src/jobs/upkeep.ts';
import type { Client, Json } from './support/client.ts';
import { createFleet, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { END, FORM_TYPE, field, file } from './support/raw-form.ts';
import { until } from './support/until.ts';

const MB = 1024 * 1024;
const gateway = await startGateway({ settings: { LIMIT_FILE_BYTES: String(3 * MB) } });
const acme = await gateway.as('acme');

const size = async (): Promise<number> => {
  const [row] = await gateway.execute<{ size: string }>(`select pg_total_relation_size('import_batch') as size`);
  return Number(row?.size);
};

async function runUpkeep(): Promise<void> {
  const job = upkeep({
    open: () => contextOf(gateway.services, 'job', null),
    withBackoff: (step) => step(),
    onError: (error) => expect.fail(String(error)),
  });
  await job.run(new AbortController().signal);
}

/** A list of VINs of nearly three megabytes, whose rows take six and a half. */
const list = (() => {
  const vins = newVins(1000);
  return `vin\n${Array.from({ length: 150_000 }, (_, at) => vins[at % vins.length]).join('\n')}`;
})();
const dryRun = (client: Client, fleet: Json, text = list) =>
  client.post('/vehicles/file?dryRun=true', uploadForm(fleet.id, text));

interface Upload {
  /** Sends an empty row: a client that sends nothing for long is cut off. */
  goOn(): void;
  end(): Promise<number | undefined>;
}

/** Sends a file without its end. */
async function begin(client: Client, fleet: Json, importId: string): Promise<Upload> {
  const path = `${gateway.url}/vehicles/file?dryRun=true&importId=${importId}`;
  const headers = { ...client.headers, 'content-type': FORM_TYPE };
  const asked: ClientRequest = request(path, { method: 'POST', headers, agent: false });
  asked.on('error', () => {});
  onTestFinished(() => void asked.destroy());
  asked.write(field('fleetId', fleet.id) + file(`${list}\n`).slice(0, -2));
  await until(async () => (await client.get(`/imports/${importId}`)).body.received > 120_000);
  return {
    goOn: () => void asked.write('\r\n'),
    async end() {
      asked.end(`\r\n${END}`);
      const [answer] = await once(asked, 'response');
      await json(answer);
      return answer.statusCode;
    },
  };
}

test('the room of rows that were stored, or that a client left behind, is given back to the disk', async () => {
  const fleet = await createFleet(acme);
  expect((await dryRun(acme, fleet)).status).toBe(200);
  expect(await size()).toBeGreaterThan(4 * MB);
  await runUpkeep();
  expect(await size()).toBeLessThan(MB);
});

test('beside an upload under way, the room of those that ended is used again, and no row is lost', async () => {
  const fleet = await createFleet(acme);
  const [globex, other] = [await gateway.as('globex'), await gateway.as('initech')];
  const long = await begin(globex, await createFleet(globex), crypto.randomUUID());
  const otherFleet = await createFleet(other);
  for (let files = 0; files < 6; files++) {
    expect((await dryRun(files % 2 ? acme : other, files % 2 ? fleet : otherFleet)).status).toBe(200);
    await runUpkeep();
    long.goOn();
  }
  expect(await size()).toBeLessThan(24 * MB);
  expect(await long.end()).toBe(200);
  await runUpkeep();
  expect(await size()).toBeLessThan(MB);
});

test('rows of a company’s uploads under way have a bound together; another company has its own', async () => {
  const [umbrella, globex] = [await gateway.as('umbrella'), await gateway.as('globex')];
  const fleet = await createFleet(umbrella);
  const long = await begin(umbrella, fleet, crypto.randomUUID());
  const refused = await dryRun(umbrella, fleet);
  expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  expect(refused.body.detail).toContain('9,437,184 bytes');
  expect(refused.headers.get('retry-after')).toBe('30');
  expect((await dryRun(globex, await createFleet(globex))).status).toBe(200);
  expect(await long.end()).toBe(200);
  expect((await dryRun(umbrella, fleet)).status).toBe(200);
});

/** Rows whose second cell has 8,000 characters that JSON writes as six each. */
const tableOf = (vins: readonly string[]) =>
  `vin,note\n${vins.map((vin) => `${vin},${'\u0001'.repeat(8000)}`).join('\n')}`;

const keptOf = async (importId: string) => {
  const [row] = await gateway.execute<{ count: number; bytes: number }>(
    `select count(*)::int as count, sum(octet_length(cells::text))::int as bytes from import_rejection
     where import_id = '${importId}'`,
  );
  return row;
};

test('rejected rows are counted, and kept up to a quarter of the largest file', async () => {
  const fleet = await createFleet(acme);
  const vins = newVins(60);
  await acme.post('/vehicles', { fleetId: fleet.id, vins });
  const [first, other] = [vins[0] ?? '', await createFleet(acme)];
  for (const rows of [vins, [first, ...Array<string>(59).fill('WRONG')]]) {
    const { status, body } = await acme.post('/vehicles/file?dryRun=true', uploadForm(other.id, tableOf(rows)));
    expect({ status, rejected: body.summary.rejected }).toEqual({ status: 200, rejected: 60 });
    const kept = await keptOf(body.importId);
    expect(kept?.bytes).toBeGreaterThan((MB * 3) / 4 - 50_000);
    expect(kept?.bytes).toBeLessThan((MB * 3) / 4 + 500_000);
    expect(kept?.count).toBeLessThan(60);
  }
});

test('a file whose rows take more than that by themselves is refused, and says so in its import', async () => {
  const fleet = await createFleet(acme);
  const importId = crypto.randomUUID();
  const form = uploadForm(fleet.id, tableOf(Array(300).fill(newVins(1)[0])));
  const refused = await acme.post(`/vehicles/file?importId=${importId}`, form);
  expect(refused).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } });
  expect((await acme.get(`/imports/${importId}`)).body).toMatchObject({
    state: 'FAILED',
    failureCode: 'PAYLOAD_TOO_LARGE',
    failure: 'The rows of the file hold more than 9,437,184 bytes. Split it into several files.',
  });
  expect((await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(0);
});
