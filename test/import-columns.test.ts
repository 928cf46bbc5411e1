import { expect, test } from 'vitest';
import writeExcelFile from 'write-excel-file/node';
import type { Json } from './support/client.ts';
import { createFleet, newVin, uploadForm } from './support/factories.ts';
import { startGateway } from './support/gateway.ts';

const gateway = await startGateway();
const acme = await gateway.as('acme');
const { id: fleetId } = await createFleet(acme);

/** Two columns of VINs, so that neither is found by itself. */
function table() {
  const [own, other] = [newVin(), newVin()];
  const rows = [
    ['Halter', 'Kennung', 'Vorgänger'],
    ['Nord GmbH', own, other],
  ];
  return { own, rows, csv: rows.map((cells) => cells.join(';')).join('\n') };
}

const stored = async () => (await acme.get(`/fleets/${fleetId}/vehicles`)).body.map(({ vin }: Json) => vin);

test('a column is named in the address, in the form before the file, and in GraphQL', async () => {
  const inAddress = table();
  const answer = await acme.post('/vehicles/file?column=%20kennung', uploadForm(fleetId, inAddress.csv));
  expect(answer).toMatchObject({ status: 201, body: { column: 'Kennung', summary: { created: 1 } } });
  expect(await stored()).toContain(inAddress.own);

  const inForm = table();
  const form = new FormData();
  form.append('fleetId', fleetId);
  form.append('column', 'Kennung');
  form.append('vins', new Blob([inForm.csv], { type: 'text/csv' }), 'vins.csv');
  const second = await acme.post('/vehicles/file', form);
  expect(second).toMatchObject({ status: 201, body: { column: 'Kennung', summary: { created: 1 } } });
  expect(await stored()).toContain(inForm.own);

  const asBody = table();
  const third = await acme.post(`/vehicles/file?fleetId=${fleetId}&column=Kennung`, asBody.csv, {
    'content-type': 'text/csv',
  });
  expect(third).toMatchObject({ status: 201, body: { column: 'Kennung' } });

  const inGraphql = table();
  const operations = {
    query: `mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) { column summary { created } } }`,
    variables: { input: { fleetId, file: null, column: 'KENNUNG' } },
  };
  const upload = new FormData();
  upload.append('operations', JSON.stringify(operations));
  upload.append('map', JSON.stringify({ 0: ['variables.input.file'] }));
  upload.append('0', new Blob([inGraphql.csv], { type: 'text/csv' }), 'vins.csv');
  const { body } = await acme.post('/graphql', upload);
  expect(body.data).toEqual({ importVehicles: { column: 'Kennung', summary: { created: 1 } } });
});

test('a column that is not there is refused with the names that are, and the first rows', async () => {
  const { csv, rows } = table();
  const { status, body } = await acme.post('/vehicles/file?column=Fahrzeug', uploadForm(fleetId, csv));
  expect([status, body]).toMatchObject([
    400,
    {
      code: 'COLUMN_NOT_FOUND',
      detail: 'The file has no column "Fahrzeug". Found: "Halter", "Kennung", "Vorgänger".',
      found: rows[0],
      preview: [
        { row: 1, cells: rows[0] },
        { row: 2, cells: rows[1] },
      ],
    },
  ]);
  // Rows without a cell help nobody to choose.
  const spaced = `\n${csv.replace('\n', '\n;;\n')}\n\n`;
  const { body: again } = await acme.post('/vehicles/file?column=Fahrzeug', uploadForm(fleetId, spaced));
  expect(again.preview).toEqual([
    { row: 2, cells: rows[0] },
    { row: 4, cells: rows[1] },
  ]);
});

test('a file whose column is not found by itself shows its first five rows, so that it can be named', async () => {
  const lines = ['Halter;Kennung', ...Array.from({ length: 9 }, (_, at) => `Nord ${at};K${at}`)];
  const { status, body } = await acme.post('/vehicles/file', uploadForm(fleetId, lines.join('\n')));
  expect([status, body.code, body.errors[0].code]).toEqual([400, 'VALIDATION_FAILED', 'VIN_COLUMN_MISSING']);
  expect(body.detail).toContain('or name your own as "column"');
  expect(body.preview).toEqual(lines.slice(0, 5).map((line, at) => ({ row: at + 1, cells: line.split(';') })));
});

test('a workbook has the named column in any of its sheets', async () => {
  const { own, rows } = table();
  const cells = (data: string[][]) => data.map((row) => row.map((value) => ({ value, type: String })));
  const file = await writeExcelFile([
    { data: cells([['Notes'], ['nothing here']]), sheet: 'Notes' },
    { data: cells(rows), sheet: 'Cars' },
  ] as never).toBuffer();
  const form = new FormData();
  form.append('fleetId', fleetId);
  form.append('vins', new Blob([new Uint8Array(file)]), 'vins.xlsx');
  const answer = await acme.post('/vehicles/file?column=Kennung', form);
  expect(answer).toMatchObject({ status: 201, body: { column: 'Kennung', sheet: 'Cars' } });
  expect(await stored()).toContain(own);
});

test('a column that comes after the file is refused, since the file is read as it arrives', async () => {
  const form = uploadForm(fleetId, table().csv);
  form.append('column', 'Kennung');
  const { status, body } = await acme.post('/vehicles/file', form);
  expect([status, body.errors?.[0]?.path]).toEqual([400, 'column']);
});

test('a form that names two fleets or two columns is refused, and stores nothing in either', async () => {
  const { id: other } = await createFleet(acme);
  const vin = newVin();
  const file = new Blob([`Kennung\n${vin}`], { type: 'text/csv' });
  const send = (address: string, ...parts: [string, string | Blob][]) => {
    const form = new FormData();
    for (const [name, value] of parts) form.append(name, value);
    return acme.post(`/vehicles/file${address}`, form);
  };
  const first: [string, string] = ['fleetId', fleetId];
  const second: [string, string] = ['fleetId', other];
  for (const answer of [
    await send('', first, second, ['vins', file]),
    await send('', first, ['vins', file], second),
    await send('', ['vins', file], first, second),
    await send(`?fleetId=${fleetId}`, second, ['vins', file]),
    await send(`?fleetId=${fleetId}`, ['vins', file], second),
  ]) {
    const { status, body } = answer;
    expect([status, body.errors]).toMatchObject([400, [{ path: 'fleetId', message: expect.stringContaining('two') }]]);
  }
  const columns = await send('?column=VIN', first, ['column', 'Kennung'], ['vins', file]);
  expect(columns).toMatchObject({ status: 400, body: { errors: [{ path: 'column' }] } });
  for (const id of [fleetId, other]) expect((await acme.get(`/fleets/${id}/vehicles?vin=${vin}`)).body).toEqual([]);
  expect(await send(`?fleetId=${fleetId}`, first, ['vins', file], first)).toMatchObject({ status: 201 });
});
