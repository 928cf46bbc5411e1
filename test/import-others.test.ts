import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Json } from './support/client.ts';
import { createFleet, newVin, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { rowsOf, workbookAs, workbookOf } from './support/zip.ts';

// Files and values as other programs, scanners and keyboards make them.

const gateway = await startGateway();
const acme = await gateway.as('acme');

type Told = { status: number; column: string | null; created: number; rejected: Json[] };

/** Uploads a file by REST and by GraphQL, each to a fleet of a company of its own; both tell the same. */
async function upload(file: string | Buffer, headers: Record<string, string> = {}): Promise<Told> {
  const bytes = new Blob([Buffer.from(file)], { type: 'application/octet-stream' });
  const rest = await gateway.as(`rest ${randomUUID()}`);
  const path = `/vehicles/file?fleetId=${(await createFleet(rest)).id}`;
  const { status, body } = await rest.post(path, bytes, { 'content-type': 'application/octet-stream', ...headers });
  const { column = null, summary, rejected = body.errors } = body;
  const told = { column, created: summary?.created ?? 0, rejected };
  const importId = body.importId;
  if (importId) expect((await rest.get(`/imports/${importId}`)).body.column).toBe(column);

  const other = await gateway.as(`graphql ${randomUUID()}`);
  const query = `mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) {
    column import { column } summary { created } rejected { row value code message } } }`;
  const form = new FormData();
  const input = { fleetId: (await createFleet(other)).id, file: null };
  form.append('operations', JSON.stringify({ query, variables: { input } }));
  form.append('map', '{"0":["variables.input.file"]}');
  form.append('0', bytes, 'vins');
  if (Object.keys(headers).length === 0) {
    const { data, errors } = (await other.post('/graphql', form)).body;
    const answer = data?.importVehicles ?? errors[0].extensions;
    expect({
      column: answer.column ?? null,
      created: answer.summary?.created ?? 0,
      rejected: answer.rejected ?? answer.errors,
    }).toEqual(told);
    expect(answer.import?.column ?? null).toBe(answer.import ? column : null);
  }
  return { status, ...told };
}

const asCsv = (rows: readonly (readonly string[])[]) => rows.map((row) => row.join(',')).join('\n');
/** The same table as CSV and as a workbook, whose cells may not have the control characters that XML forbids. */
const filesOf = (rows: readonly (readonly string[])[]) => [
  Buffer.from(asCsv(rows)),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a workbook writes them by their number.
  workbookOf(rowsOf(rows).replaceAll(/[\0-\x1f]/g, (c) => `_x00${c.charCodeAt(0).toString(16).padStart(2, '0')}_`)),
];

describe('a file', () => {
  test('whose header names no VINs is read in the column that has them, which the answer names', async () => {
    const [a = '', b = ''] = newVins(2);
    for (const file of filesOf([
      ['Asset Tag', 'Serial', 'Model'],
      ['A1', a, 'X'],
      ['A2', b, 'X'],
    ]))
      expect(await upload(file)).toEqual({ status: 201, column: 'Serial', created: 2, rejected: [] });
    for (const name of ['Numer VIN', 'Stelnummer', 'Chassinummer', 'Nº do Chassi', 'asset.vin'])
      expect(await upload(`Plate;${name}\nx;${newVin()}\n`)).toMatchObject({ status: 201, column: name, created: 1 });
  });

  test('with VINs in two columns without a name for either is refused with both', async () => {
    const [a = '', b = ''] = newVins(2);
    for (const file of filesOf([
      ['Old', 'New'],
      [a, b],
    ])) {
      const { status, column, rejected } = await upload(file);
      expect([status, column, rejected]).toMatchObject([400, null, [{ code: 'VIN_COLUMN_MISSING' }]]);
      expect(rejected[0].message).toContain('"Old", "New"');
    }
  });

  test.each([
    ['a unit separator before a value', '\x1f', ''],
    ['separators of a scanner', '\x02\x1e', '\x1d\x04'],
    ['marks of direction', '\u200e', '\u200f'],
    ['an embedded direction', '\u202a', '\u202c'],
    ['an invisible joiner', '\u2060', '\ufe0f'],
    ['an invisible character before the mark of a text', "\u200e'", ''],
  ])('with %s has the VINs alone', async (_, before, after) => {
    const vin = newVin();
    for (const header of [[['VIN', 'x']], []])
      for (const file of filesOf([...header, [`${before}${vin}${after}`, 'y']]))
        expect(await upload(file)).toMatchObject({ status: 201, created: 1, rejected: [] });
  });

  test('with separators of a scanner may be Windows-1252', async () => {
    const file = Buffer.from(`VIN;Halter\n\x1f${newVin()};Müller\n`, 'latin1');
    expect(await upload(file)).toMatchObject({ status: 201, created: 1 });
  });

  test('with the I of a bar code is refused with a suggestion without it', async () => {
    const vin = newVin();
    for (const file of filesOf([['VIN'], [`I${vin}`]])) {
      const { status, rejected } = await upload(file);
      expect([status, rejected]).toMatchObject([400, [{ row: 2, code: 'VIN_INVALID_LENGTH' }]]);
      expect(rejected[0].message).toContain(`Did you mean ${vin}?`);
    }
  });

  test.each([
    '12345678901234500',
    '12 345 678 901 234 500',
    '12345678901234500.0',
    '１２３４５６７８９０１２３４５００',
  ])('with %s is damaged by a spreadsheet, in CSV and in a workbook', async (number) => {
    for (const file of filesOf([['VIN'], [number]]))
      expect(await upload(file)).toMatchObject({ status: 400, rejected: [{ code: 'VIN_SPREADSHEET_DAMAGE' }] });
  });

  test('a number that a spreadsheet has rounded is damaged as a number, too', async () => {
    const file = workbookOf(
      '<row><c t="inlineStr"><is><t>VIN</t></is></c></row><row><c><v>12345678901234500</v></c></row>',
    );
    expect(await upload(file)).toMatchObject({ status: 400, rejected: [{ code: 'VIN_SPREADSHEET_DAMAGE' }] });
  });
});

const wide = (text: string) => text.replaceAll(/[!-~]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0));

test('a VIN in full width or among invisible characters is the plain one: in lists, files, filters, search and contracts', async () => {
  const fleet = await createFleet(acme);
  const vin = newVin();
  for (const [at, given] of [wide(vin), wide(vin.toLowerCase()), `\u200e${vin}\x1f`].entries()) {
    const added = await acme.post('/vehicles', { fleetId: fleet.id, vins: [given] });
    expect([added.status, added.body.summary.created, added.body.vehicles[0].vin]).toEqual([
      201,
      at === 0 ? 1 : 0,
      vin,
    ]);
    expect((await upload(`ＶＩＮ\n${given}`)).created).toBe(1);
    const asked = encodeURIComponent(given);
    for (const path of [`/vehicles?vin=${asked}`, `/fleets/${fleet.id}/vehicles?vin=${asked}`])
      expect((await acme.get(path)).body).toMatchObject([{ vin }]);
    expect((await acme.get(`/search?q=${asked}`)).body).toMatchObject([{ vin }]);
    expect((await acme.post(`/vehicles/eligibility/${asked}/refresh`)).status).toBe(202);
    const times = { from: `203${at}-01-01T00:00:00Z`, to: `203${at}-02-01T00:00:00Z` };
    const terms = { name: 'n', description: 'd', pack: 'p', ...times };
    expect((await acme.post('/contracts', { fleetId: fleet.id, vin: given, ...terms })).status).toBe(201);
  }
});

test('a letter of another alphabet is refused with the VIN in Latin letters', async () => {
  const fleet = await createFleet(acme);
  for (const given of ['WVWZZZ1KZАW000001', 'wvwzzz1kzаw00000о', 'WVWZZZ1ΚZAW000001'])
    expect((await acme.post('/vehicles', { fleetId: fleet.id, vins: [given] })).body.rejected).toMatchObject([
      { code: 'VIN_INVALID_CHARACTER', message: expect.stringMatching(/Did you mean WVWZZZ1KZAW00000[01]\?$/) },
    ]);
});

test.each([
  ['shared texts with a capital', (name: string) => name.replace('sharedS', 'SharedS'), true],
  ['a sheet with a capital', (name: string) => name.replace('sheet1', 'Sheet1'), false],
])('a workbook of another program, with %s, is read', async (_, stored, shared) => {
  const style = {
    ...{ folder: 'xl/', workbook: 'workbook.xml', sheet: 'worksheets/sheet1.xml', texts: 'sharedStrings.xml' },
    ...{
      stored,
      target: (relative: string) => relative,
      prefix: '',
      idPrefix: 'r',
      strict: false,
      shared,
      reversed: false,
    },
  };
  expect(await upload(workbookAs([['VIN'], [newVin()]], style))).toMatchObject({ status: 201, created: 1 });
});

describe('a file as the body with a Content-Encoding', () => {
  const CSV = `vin\n${newVins(3).join('\n')}\n`;
  const sheet = workbookOf(rowsOf([['vin'], [newVin()]]));

  test.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', (text: string | Buffer) => Buffer.from(text)],
  ])('%s is unpacked', async (encoding, pack) => {
    expect(await upload(pack(CSV), { 'content-encoding': encoding })).toMatchObject({ status: 201, created: 3 });
    expect(await upload(pack(sheet), { 'content-encoding': encoding })).toMatchObject({ status: 201, created: 1 });
  });

  const { env, database } = gateway;
  test('is bounded as it is unpacked, and as it comes', async () => {
    const limited = await startGateway({ on: { env, database }, settings: { LIMIT_FILE_BYTES: '1000000' } });
    const client = await limited.as('packers');
    const { id } = await createFleet(client);
    const send = (bytes: Buffer) =>
      client.post(`/vehicles/file?fleetId=${id}`, new Blob([new Uint8Array(bytes)]), {
        ...{ 'content-type': 'text/csv', 'content-encoding': 'gzip' },
      });
    const large = `vin\n${Array.from({ length: 200_000 }, () => randomUUID()).join('\n')}`;
    const zeros = gzipSync(Buffer.alloc(200_000_000, `${newVin()}\n`));
    // Empty members unpack to nothing, as many as there are.
    const empty = Buffer.alloc(3_000_000, gzipSync(''));
    for (const bytes of [gzipSync(large), zeros, empty]) {
      const { status, body } = await send(bytes);
      expect([status, body.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    }
    expect((await send(gzipSync(CSV))).status).toBe(201);
    expect((await client.get(`/fleets/${id}`)).body.vehicleCount).toBe(3);
  });

  test('that it does not have, or that is not known, is refused; and so is a part of it', async () => {
    const told = async (file: Buffer, encoding: string) => {
      const client = await gateway.as('packers');
      const { id } = await createFleet(client);
      const headers = { 'content-type': 'text/csv', 'content-encoding': encoding };
      const { status, body } = await client.post(
        `/vehicles/file?fleetId=${id}`,
        new Blob([new Uint8Array(file)]),
        headers,
      );
      expect((await client.get(`/fleets/${id}`)).body.vehicleCount).toBe(0);
      return [status, body.detail];
    };
    const long = gzipSync(`vin\n${newVins(1000).join('\n')}\n`);
    expect(await told(long.subarray(0, long.length - 9), 'gzip')).toEqual([400, 'The file is cut off.']);
    expect(await told(long.subarray(0, 1), 'gzip')).toEqual([400, 'The file is cut off.']);
    expect(await told(Buffer.from(CSV), 'gzip')).toEqual([
      400,
      'The body cannot be unpacked: it is not gzip, as Content-Encoding says, or damaged.',
    ]);
    for (const encoding of ['zip', 'constructor', 'gzip, gzip'])
      expect(await told(gzipSync(CSV), encoding)).toEqual([
        415,
        `The Content-Encoding ${encoding} is not understood. Send the file as it is, or with gzip, deflate or br.`,
      ]);
  });

  test('is read to its end if it is refused before, so that the connection serves the next request', async () => {
    const client = await gateway.as('packers');
    const file = gzipSync(Array.from({ length: 200_000 }, () => randomUUID()).join('\n'));
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname).setEncoding('latin1');
    let answers = '';
    socket.on('data', (text) => {
      answers += text;
    });
    const head = (request: string) =>
      `${request} HTTP/1.1\r\nHost: x\r\nAuthorization: ${client.headers.authorization}\r\n`;
    socket.write(
      `${head(`POST /vehicles/file?fleetId=${randomUUID()}`)}Content-Type: text/csv\r\nContent-Encoding: gzip\r\nContent-Length: ${file.length}\r\n\r\n`,
    );
    socket.write(file);
    socket.write(`${head('GET /fleets')}\r\n`);
    await until(() => answers.split('HTTP/1.1 ').length === 3);
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['404', '200']);
    socket.destroy();
  });

  test('whose client leaves stores nothing', async () => {
    const client = await gateway.as('packed leavers');
    const { id } = await createFleet(client);
    const file = gzipSync(`vin\n${newVins(1000).join('\n')}\n`);
    const importId = randomUUID();
    const { hostname, port } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /vehicles/file?fleetId=${id}&importId=${importId} HTTP/1.1\r\nHost: x\r\nAuthorization: ${client.headers.authorization}\r\n` +
        `Content-Type: text/csv\r\nContent-Encoding: gzip\r\nContent-Length: ${file.length}\r\n\r\n`,
    );
    socket.write(file.subarray(0, file.length - 50));
    await until(async () => (await client.get(`/imports/${importId}`)).status === 200);
    socket.destroy();
    await until(async () => (await client.get(`/imports/${importId}`)).body.state === 'FAILED');
    expect((await client.get(`/fleets/${id}`)).body.vehicleCount).toBe(0);
  });
});
