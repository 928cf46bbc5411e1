import { mkdtemp, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import type { Client, Headed, Json } from './support/client.ts';
import { addVehicles, createFleet, newVin, newVins, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { END, FORM_TYPE, field, file, part } from './support/raw-form.ts';

const gateway = await startGateway({ settings: { LIMIT_REJECTED_ROWS: '150' } });
const acme = await gateway.as('acme');

interface Sent {
  query?: string;
  headers?: Headed;
  client?: Client;
}

/** Members of the input of an import that tests change. */
interface ImportInput {
  dryRun?: boolean;
  mode?: 'PARTIAL' | 'ATOMIC';
}

const upload = (fleet: Json, csv: string | Blob, { query = '', headers = {}, client = acme }: Sent = {}) => {
  const form = typeof csv === 'string' ? uploadForm(fleet.id, csv) : new FormData();
  if (typeof csv !== 'string') {
    form.append('fleetId', fleet.id);
    form.append('vins', csv, 'vins.csv');
  }
  return client.post(`/vehicles/file${query}`, form, headers);
};
const vinsOf = async (fleet: Json): Promise<string[]> => {
  const { body } = await acme.get(`/fleets/${fleet.id}/vehicles`);
  return body.map(({ vin }: Json) => vin).sort();
};
const countOf = async (fleet: Json) => (await acme.get(`/fleets/${fleet.id}`)).body.vehicleCount;
const utf16 = (text: string) => new Blob([Buffer.from(`\ufeff${text}`, 'utf16le')], { type: 'text/csv' });

describe('layouts', () => {
  const layouts: Record<string, (vins: string[]) => string | Blob> = {
    'a header and one column': (vins) => `vin\n${vins.join('\n')}\n`,
    'no header, no last line break': (vins) => vins.join('\n'),
    'CRLF and a byte order mark': (vins) => `\ufeffVIN\r\n${vins.join('\r\n')}\r\n`,
    'semicolons, quotes and an alias in another column': (vins) =>
      `plate;"Vehicle Identification Number"\n${vins.map((vin) => `"B;X 1";"${vin}"`).join('\n')}\n`,
    tabs: (vins) => `fin\tmodel\n${vins.map((vin) => `${vin}\tGolf`).join('\n')}\n`,
    'bars and blank lines': (vins) => `\nmodel|chassis number\n\n${vins.map((vin) => `Golf|${vin}`).join('\n\n')}\n\n`,
    'UTF-16 from a spreadsheet': (vins) => utf16(`vin;plate\r\n${vins.map((vin) => `${vin};Zürich`).join('\r\n')}\r\n`),
    'Windows-1252, as Excel writes CSV on Windows': (vins) =>
      new Blob([Buffer.from(`Halter;VIN\r\n${vins.map((vin) => `Müller;${vin}`).join('\r\n')}\r\n`, 'latin1')]),
    'a title above the header': (vins) => `Fleet 2026;;\n\nplate;VIN\n${vins.map((vin) => `x;${vin}`).join('\n')}\n`,
    'no header, and the VIN last': (vins) => vins.map((vin, at) => `${at};Golf;${vin}`).join('\n'),
    'VINs as people write them': (vins) =>
      vins.map((vin) => ` ${vin.slice(0, 3).toLowerCase()}-${vin.slice(3)} `).join('\n'),
  };
  for (const [name, write] of Object.entries(layouts)) {
    test(name, async () => {
      const fleet = await createFleet(acme);
      const vins = newVins(3);
      const { status, body } = await upload(fleet, write(vins));
      expect({ status, summary: body.summary }).toEqual({
        status: 201,
        summary: { received: 3, created: 3, existing: 0, rejected: 0 },
      });
      expect(await vinsOf(fleet)).toEqual(vins.sort());
    });
  }

  test('CSV with the type of a spreadsheet is accepted; a PNG called .csv is not', async () => {
    const fleet = await createFleet(acme);
    const label = 'application/vnd.ms-excel';
    expect((await upload(fleet, new Blob([`${newVin()}\n`], { type: label }))).status).toBe(201);
    const png = new Blob([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')], { type: 'text/csv' });
    expect(await upload(fleet, png)).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } });
  });
});

describe('rows', () => {
  test('an import of many batches is stored in full, with makers, warnings and verification due', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(9_000).concat('1HGCM82633A004353');
    const { body, headers } = await upload(fleet, `vin\n${vins.toReversed().join('\n')}\n`);
    expect(body.summary).toEqual({ received: 9_001, created: 9_001, existing: 0, rejected: 0 });
    expect(headers.get('location')).toBe(`/imports/${body.importId}`);
    expect(await vinsOf(fleet)).toEqual(vins.sort());
    expect(await countOf(fleet)).toBe(9_001);
    const { body: run } = await acme.get(`/imports/${body.importId}`);
    expect(run).toMatchObject({ id: body.importId, fleetId: fleet.id, state: 'COMPLETED', ...body.summary });
    const rows = await gateway.execute(
      `select manufacturer, status, warnings, due_at <= now() as due, count(*)::int as count from vehicle
       where fleet_id = '${fleet.id}' group by 1, 2, 3, 4 order by count desc`,
    );
    expect(rows).toEqual([
      { manufacturer: 'bmw', status: 'PENDING', warnings: [], due: true, count: 9_000 },
      expect.objectContaining({ manufacturer: 'honda', warnings: ['VIN_CHECK_DIGIT'], count: 1 }),
    ]);
    expect(await gateway.execute('select import_id from import_batch')).toEqual([]);
  });

  test('ids are distinct UUIDv7 with the time of the import', async () => {
    const fleet = await createFleet(acme);
    const before = Date.now();
    await upload(fleet, newVins(2_000).join('\n'));
    const rows = await gateway.execute<{ id: string }>(`select id from vehicle where fleet_id = '${fleet.id}'`);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2_000);
    for (const { id } of rows) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBeGreaterThanOrEqual(before);
    }
  });

  test('repeated rows count as existing and are named with the row they repeat', async () => {
    const fleet = await createFleet(acme);
    const [one, two, three] = newVins(3);
    await addVehicles(acme, [three as string], fleet);
    const { body } = await upload(fleet, `vin\n${one}\n${two}\n${one}\n\n${three}\n${one?.toLowerCase()}\n`);
    expect(body.summary).toEqual({ received: 5, created: 2, existing: 3, rejected: 0 });
    expect(body.duplicates).toEqual([
      { row: 4, firstRow: 2, value: one },
      { row: 7, firstRow: 2, value: one },
    ]);
    expect(await countOf(fleet)).toBe(3);
  });

  test('a VIN of another fleet is refused with its cells; another company’s is not', async () => {
    const fleet = await createFleet(acme);
    const [taken, alsoTaken, free, foreign] = newVins(4) as [string, string, string, string];
    await addVehicles(acme, [taken, alsoTaken]);
    await addVehicles(await gateway.as('globex'), [foreign]);
    const file = `plate,vin\nB-1,${free}\nB-2,${taken}\nB-3,${foreign}\nB-4,${taken}\n"B,5",${alsoTaken}\n`;
    const { body } = await upload(fleet, file);
    expect(body.summary).toEqual({ received: 5, created: 2, existing: 0, rejected: 3 });
    expect(body.rejected.map(({ row, value, code }: Json) => [row, value, code])).toEqual([
      [3, taken, 'VIN_IN_ANOTHER_FLEET'],
      [5, taken, 'VIN_IN_ANOTHER_FLEET'],
      [6, alsoTaken, 'VIN_IN_ANOTHER_FLEET'],
    ]);
    expect(body.duplicates).toEqual([]);
    const { body: csv } = await acme.get(body.rejectedCsv);
    expect(csv.split('\n')[3]).toMatch(new RegExp(`^"B,5",${alsoTaken},VIN_IN_ANOTHER_FLEET,`));
  });

  test('mode atomic stores all or nothing', async () => {
    const fleet = await createFleet(acme);
    const [one, two, taken] = newVins(3) as [string, string, string];
    await addVehicles(acme, [taken]);
    const bad = await upload(fleet, `${one}\nSHORT\n`, { query: '?mode=atomic' });
    expect(bad).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED', errors: [{ path: 'row 2', code: 'VIN_INVALID_LENGTH' }] },
    });
    expect(bad.body.summary).toEqual({ received: 2, created: 0, existing: 0, rejected: 1 });
    const elsewhere = await upload(fleet, `${one}\n${taken}\n`, { query: '?mode=atomic' });
    expect(elsewhere).toMatchObject({ status: 400, body: { summary: { received: 2, created: 0, rejected: 1 } } });
    expect(await acme.get(`/imports/${elsewhere.body.importId}`)).toMatchObject({
      body: { state: 'FAILED', failure: elsewhere.body.detail, failureCode: 'ROWS_REJECTED', dryRun: false },
    });
    expect(await countOf(fleet)).toBe(0);
    const good = await upload(fleet, `${one}\n${two}\n`, { query: '?mode=atomic' });
    expect(good).toMatchObject({ status: 201, body: { summary: { created: 2 } } });
    expect((await acme.get(`/imports/${good.body.importId}`)).body).toMatchObject({
      failure: null,
      failureCode: null,
      dryRun: false,
    });
  });

  test.each(['before', 'behind'])(
    'dryRun as a field of the form, %s the file, is 400 and stores nothing',
    async (place) => {
      const fleet = await createFleet(acme);
      const form = new FormData();
      if (place === 'before') form.append('dryRun', 'true');
      form.append('fleetId', fleet.id);
      form.append('vins', new Blob([newVin()], { type: 'text/csv' }), 'vins.csv');
      if (place === 'behind') form.append('dryRun', 'true');
      expect(await acme.post('/vehicles/file', form)).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'dryRun' }] },
      });
      expect(await countOf(fleet)).toBe(0);
    },
  );

  test('dryRun reports and stores nothing', async () => {
    const fleet = await createFleet(acme);
    const [one, two, there] = newVins(3) as [string, string, string];
    await addVehicles(acme, [there], fleet);
    const dry = await upload(fleet, `${one}\n${two}\n${one}\n${there}\nSHORT\n`, { query: '?dryRun=true' });
    expect(dry).toMatchObject({
      status: 200,
      body: {
        summary: { received: 5, created: 2, existing: 2, rejected: 1 },
        duplicates: [{ row: 3, firstRow: 1, value: one }],
      },
    });
    expect(await vinsOf(fleet)).toEqual([there]);
    expect((await acme.get(`/imports/${dry.body.importId}`)).body).toMatchObject({ failure: null, dryRun: true });
  });

  test('a file of refused rows is a 400 with the report', async () => {
    const fleet = await createFleet(acme);
    const { status, body } = await upload(fleet, 'vin\nSHORT\nTOOSHORT\n');
    expect({ status, rejected: body.summary.rejected, rows: body.rejected.length }).toEqual({
      status: 400,
      rejected: 2,
      rows: 2,
    });
    expect(body.rejectedCsv).toBe(`/imports/${body.importId}/rejected.csv`);
  });

  test('an import is recorded as events, the vehicles by the thousand', async () => {
    const fleet = await createFleet(acme);
    const { body } = await upload(fleet, newVins(2_500).join('\n'));
    const events = await gateway.execute(
      `select type, cardinality(vehicle_ids) as vehicles, data->>'importId' as import from event
       where fleet_id = '${fleet.id}' and type <> 'fleet.created' order by type desc, vehicles desc`,
    );
    const added = (vehicles: number) => ({ type: 'vehicle.added', vehicles, import: body.importId });
    expect(events).toEqual([
      added(1_000),
      added(1_000),
      added(500),
      { type: 'import.completed', vehicles: 0, import: body.importId },
    ]);
  });
});

// The embedded database has one connection, on which everything waits.
test.skipIf(gateway.database.kind === 'embedded')(
  'while an upload is stored, its fleet can be changed and given other vehicles',
  async () => {
    const fleet = await createFleet(acme);
    await gateway.database.orm.em.fork().transactional(async (em) => {
      await em.execute(`insert into vehicle (id, company, fleet_id, vin, created_at)
        values ('${crypto.randomUUID()}', 'acme', '${fleet.id}', '${newVin()}', now())`);
      const answers = Promise.all([
        acme.patch(`/fleets/${fleet.id}`, { vat: 'DE2' }),
        acme.post('/vehicles', { fleetId: fleet.id, vins: [newVin()] }),
      ]);
      // A request that waited for the upload would wait for ever.
      const [{ status, body }, { status: added }] = await answers;
      expect({ status, vat: body.vat, added }).toEqual({ status: 200, vat: 'DE2', added: 201 });
    });
  },
);

describe('refused rows', () => {
  test.each([
    ['Windows-1252 and a title', Buffer.from('Fleet 2026\r\nHalter;VIN\r\nMüller, =1+1;SHORT1\r\n', 'latin1')],
    ['no header', Buffer.from('\ufeffMüller, =1+1;SHORT1\n"";WBA0000000000001I\n')],
  ])('are exported as UTF-8 for spreadsheets, and can be imported unchanged: %s', async (_, bytes) => {
    const fleet = await createFleet(acme);
    const report = async (file: Blob) => {
      const { status, body } = await upload(fleet, file);
      expect(status).toBe(400);
      const answer = await fetch(`${acme.url}${body.rejectedCsv}`, { headers: acme.headers });
      return answer.arrayBuffer();
    };
    const first = await report(new Blob([bytes]));
    expect(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(first)).toMatch(
      /^\ufeff(?:Halter;VIN|column_1;vin);error_code;error_message\nMüller,' =1\+1;SHORT1;/,
    );
    expect(Buffer.from(await report(new Blob([first])))).toEqual(Buffer.from(first));
  });

  test('a file without a column of VINs is refused at once', async () => {
    const { status, body } = await upload(await createFleet(acme), 'Nr;Model\n1;Golf\n2;Polo\n');
    expect({ status, errors: body.errors, found: body.found }).toMatchObject({
      status: 400,
      errors: [{ code: 'VIN_COLUMN_MISSING' }],
      found: ['Nr', 'Model'],
    });
  });

  test('are exported as CSV in the file’s own layout, which can be imported again', async () => {
    const fleet = await createFleet(acme);
    const [good, mended] = newVins(2) as [string, string];
    const file = `plate;vin;note\n=1+1;${good.slice(0, -1)};"a ""b"""\nB-2;${mended.slice(0, 3)}O${mended.slice(4)};@x\nB-3;${good};\n`;
    const { body } = await upload(fleet, file);
    expect(body.summary).toMatchObject({ created: 1, rejected: 2 });
    const answer = await acme.get(body.rejectedCsv);
    expect(answer.headers.get('content-type')).toMatch(/^text\/csv/);
    const [header, first, second] = answer.body.split('\n');
    expect(header).toBe('plate;vin;note;error_code;error_message');
    expect(first).toMatch(/^'=1\+1;WBA\w+;"a ""b""";VIN_INVALID_LENGTH;/);
    expect(second).toMatch(/;'@x;VIN_INVALID_CHARACTER;.*Did you mean/);
    const again = await upload(fleet, answer.body);
    expect(again).toMatchObject({ status: 400, body: { summary: { received: 2, rejected: 2 } } });
    const third = await acme.get(again.body.rejectedCsv);
    expect(third.body).toBe(answer.body);
    const repaired = answer.body.replace(`${mended.slice(0, 3)}O`, mended.slice(0, 4));
    expect((await upload(fleet, repaired)).body.summary).toMatchObject({ received: 2, created: 1, rejected: 1 });
  });

  test.each([10, 7_000])('of a file without a header have all columns, with cells of %s characters', async (length) => {
    const long = 'x'.repeat(length);
    const [good] = newVins(1);
    const cells = ['SHORT', long, long, long, long, long, long, long, long, long];
    const { body } = await upload(await createFleet(acme), `${[good, ...cells.slice(1)]}\n${cells}\n`);
    expect(body.summary).toEqual({ received: 2, created: 1, existing: 0, rejected: 1 });
    const [header, row] = (await acme.get(body.rejectedCsv)).body.split('\n');
    expect(header.split(',')).toHaveLength(cells.length + 2);
    expect(row.split(',').slice(0, cells.length)).toEqual(cells);
  });

  test('are kept up to one limit, both invalid VINs and VINs of another fleet', async () => {
    const fleet = await createFleet(acme);
    const taken = newVins(100);
    await addVehicles(acme, taken);
    const { body } = await upload(fleet, [...taken, ...Array(100).fill('SHORT'), newVin()].join('\n'));
    expect(body.summary).toEqual({ received: 201, created: 1, existing: 0, rejected: 200 });
    expect((await acme.get(body.rejectedCsv)).body.trim().split('\n').length).toBe(1 + 150);
  });

  test('are all counted, and kept up to a limit', async () => {
    const fleet = await createFleet(acme);
    const bad = Array.from({ length: 400 }, (_, at) => `BAD${at}`);
    const { body } = await upload(fleet, [newVin(), ...bad].join('\n'));
    expect(body.summary).toEqual({ received: 401, created: 1, existing: 0, rejected: 400 });
    expect(body.rejected.length).toBe(100);
    const { body: csv } = await acme.get(body.rejectedCsv);
    expect(csv.trim().split('\n').length).toBe(1 + 150);
  });
});

describe('repeated uploads', () => {
  for (const [name, sent] of Object.entries({
    'an Idempotency-Key': (key: string) => ({ headers: { 'Idempotency-Key': key } }),
    'an importId': (key: string) => ({ query: `?importId=${key}` }),
  })) {
    test(`${name} makes a second upload safe`, async () => {
      const fleet = await createFleet(acme);
      const file = `${newVins(3).join('\n')}\nSHORT\n`;
      const how = sent(crypto.randomUUID());
      const first = await upload(fleet, file, how);
      const second = await upload(fleet, file, how);
      expect(first.status).toBe(201);
      expect({ status: second.status, body: second.body }).toEqual({ status: 201, body: first.body });
      expect(second.headers.get('idempotent-replayed')).toBe('true');
      expect(await upload(fleet, newVin(), how)).toMatchObject({
        status: 422,
        body: { code: 'IDEMPOTENCY_KEY_REUSED' },
      });
      expect(await upload(await createFleet(acme), file, how)).toMatchObject({ status: 422 });
      expect(await countOf(fleet)).toBe(3);
    });
  }

  const interfaces: Record<
    string,
    (fleetId: string, importId: string, vin: string, asked: ImportInput) => Promise<Json>
  > = {
    async REST(fleetId, importId, vin, { dryRun = false, mode = 'PARTIAL' }) {
      const query = `?importId=${importId}&dryRun=${dryRun}&mode=${mode.toLowerCase()}`;
      const { status, body } = await upload({ id: fleetId }, vin, { query });
      return status < 400 ? body.summary.created : body.code;
    },
    async GraphQL(fleetId, importId, vin, asked) {
      const query = 'mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { summary { created } } }';
      const form = new FormData();
      form.append('operations', JSON.stringify({ query, variables: { input: { fleetId, importId, ...asked } } }));
      form.append('map', '{"0":["variables.input.file"]}');
      form.append('0', new Blob([vin], { type: 'text/csv' }), 'vins.csv');
      const { data, errors } = (await acme.post('/graphql', form)).body;
      return errors ? errors[0].extensions.code : data.importVehicles.summary.created;
    },
  };
  const changed: [string, ImportInput, ImportInput][] = [
    ['dryRun after an import', { dryRun: false }, { dryRun: true }],
    ['an import after dryRun', { dryRun: true }, { dryRun: false }],
    ['atomic after partial', { mode: 'PARTIAL' }, { mode: 'ATOMIC' }],
    ['partial after atomic', { mode: 'ATOMIC' }, { mode: 'PARTIAL' }],
  ];
  for (const [way, send] of Object.entries(interfaces)) {
    test.each(changed)(`an importId is refused for another request by ${way}: %s`, async (_name, first, second) => {
      const [fleet, importId, vin] = [await createFleet(acme), crypto.randomUUID(), newVin()];
      expect(await send(fleet.id, importId, vin, first)).toBe(1);
      const before = await countOf(fleet);
      expect(await send(fleet.id, importId, vin, second)).toBe('IDEMPOTENCY_KEY_REUSED');
      expect(await countOf(fleet)).toBe(before);
      expect(await send(fleet.id, importId, vin, first)).toBe(1);
      expect(await countOf(fleet)).toBe(before);
    });
  }

  test('an Idempotency-Key is refused with another importId than it was first sent with', async () => {
    const [fleet, vin, first, other] = [await createFleet(acme), newVin(), crypto.randomUUID(), crypto.randomUUID()];
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    const send = (importId: string | null) =>
      upload(fleet, vin, { headers, query: importId === null ? '' : `?importId=${importId}` });
    const { status, body } = await send(first);
    expect(status).toBe(201);
    expect(await send(other)).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    // Nor does the key fit another import that there is.
    expect((await upload(fleet, vin, { query: `?importId=${other}` })).status).toBe(201);
    expect(await send(other)).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    for (const same of [first, first.toUpperCase(), null])
      expect(await send(same)).toMatchObject({ status: 201, body });
  });

  test('the importId of another company has no effect', async () => {
    const importId = crypto.randomUUID();
    const companies = [acme, await gateway.as('globex')];
    const fleets = await Promise.all(companies.map((client) => createFleet(client)));
    for (const [at, client] of companies.entries()) {
      const { status } = await upload(fleets[at], newVin(), { query: `?importId=${importId}`, client });
      expect(status).toBe(201);
    }
    for (const [at, client] of companies.entries()) {
      expect((await client.get(`/imports/${importId}`)).body).toMatchObject({ fleetId: fleets[at]?.id, created: 1 });
    }
  });

  test('uploads of the same VINs in opposite orders create each once and do not wait for each other', async () => {
    const fleet = await createFleet(acme);
    const vins = newVins(6_000);
    const answers = await Promise.all([
      upload(fleet, vins.join('\n')),
      upload(fleet, vins.toReversed().join('\n')),
      upload(fleet, vins.join('\n')),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    const created = answers.map(({ body }) => body.summary.created).reduce((sum, count) => sum + count);
    const existing = answers.map(({ body }) => body.summary.existing).reduce((sum, count) => sum + count);
    expect({ created, existing }).toEqual({ created: 6_000, existing: 12_000 });
    expect(await countOf(fleet)).toBe(6_000);
  });
});

describe('a file that comes before its fleet', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(inject('database').folder, 'uploads-'));
    vi.stubEnv('TMPDIR', folder);
  });
  afterAll(() => void vi.unstubAllEnvs());
  async function send(body: string): Promise<number> {
    const headers = { ...acme.headers, 'content-type': FORM_TYPE };
    const answer = await fetch(`${acme.url}/vehicles/file`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status;
  }
  /** Files of uploads in the folder of temporary files, or open there; on Linux only. */
  async function kept(): Promise<string[]> {
    const open = await readdir('/proc/self/fd').catch(() => []);
    const files = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    return [...files, ...(await readdir(folder))].filter((path) => /fleet-gateway-upload-/.test(path));
  }

  test('waits for the fleet', async () => {
    const fleet = await createFleet(acme);
    expect(await send(file(newVins(1_000).join('\n')) + field('fleetId', fleet.id) + END)).toBe(201);
    expect(await countOf(fleet)).toBe(1_000);
    await expect.poll(kept).toEqual([]);
  });

  const named = field('fleetId', crypto.randomUUID());
  const wrong: Record<string, [form: string, status: number]> = {
    'no fleet follows': [file(newVin()) + END, 400],
    'an unknown fleet follows': [file(newVin()) + named + END, 404],
    'a torn part follows': [`${file(newVin())}${named}${part('broken', '')}${END}`, 400],
    'nothing follows its fleet': [file(newVin()) + named, 400],
    'it is cut off': [file('x'.repeat(100_000)).slice(0, -10), 400],
    'too much follows': [file(newVin()) + named.repeat(40) + END, 400],
    'it is no text': [file('\0\0') + named + END, 404],
  };
  test.each(Object.entries(wrong))('%s: no temporary file is left', async (_, [form, status]) => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => send(form)));
    // Uploads beyond LIMIT_UPLOADS are answered at once.
    expect(new Set(answers).difference(new Set([429]))).toEqual(new Set([status]));
    await expect.poll(kept).toEqual([]);
  });
});

test('a browser that reconnects to an ended import gets 204', async () => {
  const { body } = await upload(await createFleet(acme), newVin());
  const answer = await acme.get(`/imports/${body.importId}/events`, { 'last-event-id': 'ended' });
  expect({ status: answer.status, body: answer.body }).toEqual({ status: 204, body: null });
});

test('an upload that fails by a fault of ours does not blame its sender', async () => {
  const [fleet, importId] = [await createFleet(acme), crypto.randomUUID()];
  await gateway.execute(`create function fail() returns trigger language plpgsql as $$ begin raise 'broken'; end $$`);
  await gateway.execute('create trigger fail before insert on vehicle for each statement execute function fail()');
  const { status } = await upload(fleet, newVin(), { query: `?importId=${importId}` });
  await gateway.execute('drop trigger fail on vehicle; drop function fail()');
  expect({ status, ...(await acme.get(`/imports/${importId}`)).body }).toMatchObject({
    status: 500,
    state: 'FAILED',
    failure: expect.stringMatching('our side'),
    failureCode: 'INTERNAL',
  });
});
