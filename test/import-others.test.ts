import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Json } from './support/client.ts';
import { createFleet, newVin, newVins } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';
import { rowsOf, workbookOf } from './support/zip.ts';

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
