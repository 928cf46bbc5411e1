import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Answer, Json } from './support/client.ts';
import { createFleet, newVin, newVins } from './support/factories.ts';
import { type Gateway, startGateway } from './support/gateway.ts';
import { until } from './support/until.ts';
import { rowsOf, workbookOf, workbookOfSheets } from './support/zip.ts';

const gateway = await startGateway({ settings: { LIMIT_FILE_BYTES: '1000000' } });
const { env, database } = gateway;
const on = { env, database };
const impatient = await startGateway({ on, settings: { LIMIT_FILE_SECONDS: '1' } });
const patient = await startGateway({ on });
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

const fixture = (name: string) => readFile(`test/fixtures/${name}`);
const sheetOf = (values: readonly string[]) =>
  workbookOf(values.map((value) => `<row><c t="inlineStr"><is><t>${value}</t></is></c></row>`).join(''));

/** Ways to upload: a REST form, a GraphQL form, and the file as the body; each for a company without vehicles. */
const waysTo = (
  gateway: Gateway,
): Record<string, (file: Buffer, type: string, fleetFirst?: boolean) => Promise<[Answer, Json[]]>> => ({
  async 'a form'(file, type, fleetFirst = true) {
    const client = await gateway.as(`form-${crypto.randomUUID()}`);
    const fleet = await createFleet(client);
    const form = new FormData();
    if (fleetFirst) form.append('fleetId', fleet.id);
    form.append('vins', new Blob([Buffer.from(file)], { type }), 'vins');
    if (!fleetFirst) form.append('fleetId', fleet.id);
    const answer = await client.post('/vehicles/file', form);
    return [answer, (await client.get(`/fleets/${fleet.id}/vehicles`)).body];
  },
  'a form whose fleet comes last': (file, type) => waysTo(gateway)['a form']?.(file, type, false) as never,
  async 'a body'(file, type) {
    const client = await gateway.as(`body-${crypto.randomUUID()}`);
    const fleet = await createFleet(client);
    const answer = await client.post(`/vehicles/file?fleetId=${fleet.id}`, new Blob([Buffer.from(file)]), {
      'content-type': type,
    });
    return [answer, (await client.get(`/fleets/${fleet.id}/vehicles`)).body];
  },
  async GraphQL(file, type) {
    const client = await gateway.as(`graphql-${crypto.randomUUID()}`);
    const fleet = await createFleet(client);
    const query = `mutation ($input: ImportVehiclesInput!) { importVehicles(input: $input) {
      sheet import { sheet } summary { received created existing rejected } rejected { row value code message } } }`;
    const form = new FormData();
    form.append('operations', JSON.stringify({ query, variables: { input: { fleetId: fleet.id, file: null } } }));
    form.append('map', '{"0":["variables.input.file"]}');
    form.append('0', new Blob([Buffer.from(file)], { type }), 'vins');
    const { status, body } = await client.post('/graphql', form);
    const found = (await client.get(`/fleets/${fleet.id}/vehicles`)).body;
    return [
      {
        status,
        body: body.data?.importVehicles ?? { detail: body.errors[0].message, ...body.errors[0].extensions },
      } as Answer,
      found,
    ];
  },
});
const ways = waysTo(gateway);

describe.each(Object.entries(ways))('a spreadsheet by %s', (way, upload) => {
  test("has the result of the same CSV; refused rows have the sheet's numbers", async () => {
    const [sheet, vehicles] = await upload(await fixture('libreoffice.xlsx'), XLSX);
    const [csv, same] = await upload(await fixture('libreoffice.csv'), 'text/csv');
    expect(sheet.status).toBe(way === 'GraphQL' ? 200 : 201);
    expect(sheet.body.summary).toEqual(csv.body.summary);
    expect(sheet.body.summary).toEqual({ received: 5, created: 3, existing: 0, rejected: 2 });
    const told = ({ body }: Answer) => body.rejected.map(({ row, code }: Json) => [row, code]);
    expect(told(sheet)).toEqual(told(csv));
    expect(told(sheet)).toEqual([
      [9, 'VIN_SPREADSHEET_DAMAGE'],
      [10, 'VIN_INVALID_LENGTH'],
    ]);
    const vins = (found: Json[]) => found.map(({ vin }) => vin);
    expect(vins(vehicles)).toEqual(vins(same));
  });

  test('with half a surrogate pair in its cells is stored without the half', async () => {
    const cells = (...texts: string[]) =>
      `<row>${texts.map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`;
    const rows = cells('vin', 'plate') + cells('_xD800_1', '_xDC00_') + cells(newVin(), '_xD800_');
    const [{ body }] = await upload(workbookOf(rows), XLSX);
    expect(body).toMatchObject({ summary: { created: 1, rejected: 1 }, rejected: [{ value: '\ufffd1' }] });
  });

  test('with an emoji where a message or a formula is cut is stored without the emoji', async () => {
    const [long, longer] = [`${'A'.repeat(38)}🚗AAAA`, `${'B'.repeat(199)}🚗BBBB`];
    const formulas = [long, longer].map((text) => `<row><c><f>${text}</f></c></row>`).join('');
    const [sheet] = await upload(workbookOf(`${rowsOf([['vin'], [newVin()]])}${formulas}`), XLSX);
    const [csv] = await upload(Buffer.from(`vin\n${newVin()}\n=${long}\n=${longer}\n`), 'text/csv');
    for (const { status, body } of [sheet, csv]) {
      expect(status).toBe(way === 'GraphQL' ? 200 : 201);
      expect(body.summary).toEqual({ received: 3, created: 1, existing: 0, rejected: 2 });
      expect(body.rejected).toMatchObject([
        { row: 3, value: `=${long}`, message: expect.stringMatching(/^The formula =A{38}… has/) },
        { row: 4, message: expect.stringMatching(/^The formula =B{39}… has/) },
      ]);
    }
    expect([sheet, csv].map(({ body }) => body.rejected[1].value)).toEqual([`=${'B'.repeat(199)}`, `=${longer}`]);
  });

  test('whose names of columns are cut in an emoji is refused with whole characters', async () => {
    const name = `${'x'.repeat(39)}🚗`;
    const files = [
      [workbookOf(rowsOf([[name, 'y']])), XLSX] as const,
      [Buffer.from(`${name},y\n`), 'text/csv'] as const,
    ];
    for (const [file, type] of files) {
      const [{ body }] = await upload(file, type);
      expect(body.errors[0]).toMatchObject({ code: 'VIN_COLUMN_MISSING' });
      expect(body.errors[0].message).toContain(`Found: "${'x'.repeat(39)}", "y".`);
    }
  });

  test('with half a surrogate pair by number, or in UTF-16, is refused as a whole', async () => {
    const numbered = workbookOf(rowsOf([['vin'], [newVin()], ['&#xD83D;A']]));
    const utf16 = Buffer.from(`\ufeffvin,name\n${newVin()},\ud83d\n\ud83dA,x\n`, 'utf16le');
    const [[sheet], [csv]] = [await upload(numbered, XLSX), await upload(utf16, 'text/csv')];
    expect(sheet.body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ code: 'WORKBOOK_DAMAGED' }] });
    expect(csv.body).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  test('may name the column of VINs NIV, Numéro de série, VIN (17) or VIN / …, as CSV may', async () => {
    const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
    for (const name of ['NIV', 'Numéro de série', 'VIN (17)', 'VIN / Châssis']) {
      const rows = [
        ['Kenteken', name],
        ['x', newVin()],
      ];
      const sheet = workbookOf(rows.map((cells) => `<row>${cells.map(cell).join('')}</row>`).join(''));
      const csv = Buffer.from(rows.map((cells) => cells.join(';')).join('\r\n'), 'latin1');
      for (const [file, type] of [[sheet, XLSX] as const, [csv, 'text/csv'] as const]) {
        const [{ body }] = await upload(file, type);
        expect([name, body.summary]).toEqual([name, { received: 1, created: 1, existing: 0, rejected: 0 }]);
      }
    }
  });

  test('is read from its first sheet with VINs only, which the answer names', async () => {
    const [vin = '', other = ''] = newVins(2);
    const sheets = [
      { name: 'Read me', rows: rowsOf([['How to use this file'], ['Enter VINs below']]) },
      { name: 'Old', hidden: true, rows: rowsOf([['VIN'], [newVin()]]) },
      { name: 'Véhicules & <co>', rows: rowsOf([['NIV'], [vin], ['SHORT'], [other]]) },
      { name: 'Other', rows: rowsOf([['VIN'], [newVin()]]) },
    ];
    const [{ body }, vehicles] = await upload(workbookOfSheets(sheets), XLSX);
    expect(body).toMatchObject({
      sheet: 'Véhicules & <co>',
      summary: { received: 3, created: 2, rejected: 1 },
      rejected: [{ row: 3, value: 'SHORT' }],
    });
    expect(vehicles.map((one) => one.vin).toSorted()).toEqual([vin, other].toSorted());
    if (way === 'GraphQL') expect(body.import.sheet).toBe('Véhicules & <co>');
    const [{ body: csv }] = await upload(Buffer.from(`VIN\n${newVin()}\n`), 'text/csv');
    expect(csv.sheet).toBeNull();
  });

  test('without VINs on any visible sheet is refused with the names of its sheets', async () => {
    const sheets = [
      { name: 'Read me', rows: rowsOf([['How to use this file']]) },
      { name: 'Old', hidden: true, rows: rowsOf([['VIN'], [newVin()]]) },
      { name: 'Drivers', rows: rowsOf([['Name', 'Phone']]) },
      { name: 'Sheet3', rows: '' },
    ];
    const [{ body }, vehicles] = await upload(workbookOfSheets(sheets), XLSX);
    expect([body.code, vehicles]).toEqual(['VALIDATION_FAILED', []]);
    expect(body.errors).toEqual([
      {
        path: expect.any(String),
        code: 'VIN_COLUMN_MISSING',
        message: expect.stringMatching(
          /^No sheet of the workbook has a column of VINs: "Read me", "Drivers", "Sheet3"\. Hidden sheets are not read\. Name the column vin,/,
        ),
      },
    ]);
  });

  test('whose formulas have no value or an error is refused row by row, with advice', async () => {
    const cells = ['<f>B2&amp;C2</f>', '<f>B3</f><v></v>', '<f>B4</f><v>#N/A</v>', `<f>B5</f><v>${newVin()}</v>`];
    const rows = cells.map((cell, at) => `<row><c t="${['n', 'n', 'e', 'str'][at]}">${cell}</c></row>`);
    const [sheet] = await upload(
      workbookOf(`<row><c t="inlineStr"><is><t>VIN</t></is></c></row>${rows.join('')}`),
      XLSX,
    );
    const [csv] = await upload(Buffer.from(`VIN\n=B2&C2\n=B3\n#N/A\n${newVin()}\n`), 'text/csv');
    for (const { body } of [sheet, csv]) {
      expect(body.summary).toEqual({ received: 4, created: 1, existing: 0, rejected: 3 });
      expect(body.rejected).toEqual([
        {
          row: 2,
          value: '=B2&C2',
          code: 'VIN_FORMULA_ERROR',
          message: expect.stringMatching(/no stored value.*save it/),
        },
        { row: 3, value: '=B3', code: 'VIN_FORMULA_ERROR', message: expect.stringMatching(/no stored value.*save it/) },
        {
          row: 4,
          value: '#N/A',
          code: 'VIN_FORMULA_ERROR',
          message: expect.stringMatching(/#N\/A\. Mend the formula/),
        },
      ]);
    }
  });

  test('with oddities of CSV: two columns of one name, comments above a list, all VINs in one row', async () => {
    const [a, b, c] = newVins(3);
    const [twins, comments, line] = [`VIN;plate;VIN\n;x;${a}\n`, `# fleet\n${b}\n${c}\n`, `${a},${b},${c}\n`];
    expect((await upload(Buffer.from(twins), 'text/csv'))[1].map(({ vin }) => vin)).toEqual([a]);
    expect((await upload(Buffer.from(comments), 'text/csv'))[0].body.summary).toMatchObject({
      received: 2,
      created: 2,
    });
    const [{ body }, vehicles] = await upload(Buffer.from(line), 'text/csv');
    expect([body.errors[0].code, vehicles]).toEqual(['VIN_COLUMN_MISSING', []]);
    expect(body.errors[0].message).toMatch(/^Row 1 holds 3 VINs/);
  });

  test('is recognised by its content, even with the type of CSV or an unspecific type', async () => {
    for (const type of ['text/csv', 'application/octet-stream', 'application/vnd.ms-excel', 'application/zip']) {
      const [{ body }, vehicles] = await upload(sheetOf(['vin', newVin()]), type);
      expect([body.summary?.created, vehicles.length]).toEqual([1, 1]);
    }
    const [{ body }] = await upload(Buffer.from(`vin\n${newVin()}\n`), XLSX);
    expect(body.summary.created).toBe(1);
  });

  test('with bytes behind its archive is read, as its central directory says where it ends', async () => {
    for (const behind of ['\r\n', '\0'.repeat(512), '\r\n--boundary--\r\n']) {
      const vin = newVin();
      const [{ body }, vehicles] = await upload(Buffer.concat([sheetOf(['vin', vin]), Buffer.from(behind)]), XLSX);
      expect([body.summary?.created, vehicles]).toMatchObject([1, [{ vin }]]);
    }
  });

  test('whose parts are named in another case than its relationships have it is read', async () => {
    const vin = newVin();
    const parts = {
      'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="Data" sheetId="1" r:id="s"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="s" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="t" Type="http://x/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
      'xl/worksheets/Sheet1.xml': '<worksheet><sheetData><row><c t="s"><v>0</v></c></row></sheetData></worksheet>',
      'xl/SharedStrings.xml': `<sst><si><t>${vin}</t></si></sst>`,
    };
    const [{ body }, vehicles] = await upload(workbookOf('', parts), XLSX);
    expect([body.sheet, vehicles]).toMatchObject(['Data', [{ vin }]]);
  });

  test.each<[string, string, Buffer]>([
    [
      'SYLK',
      'a spreadsheet in the format SYLK',
      Buffer.from(`ID;PWXL;N;E\nC;Y1;X1;K"VIN"\nC;Y2;X1;K"${newVin()}"\nE\n`),
    ],
    [
      'SYLK of LibreOffice',
      'SYLK',
      Buffer.from(`ID;PSCALC3\r\nB;Y2;X1\r\nC;Y1;X1;K"VIN"\r\nC;Y2;X1;K"${newVin()}"\r\nE\r\n`),
    ],
    [
      'DIF',
      'DIF',
      Buffer.from(
        `TABLE\r\n0,1\r\n"EXCEL"\r\nVECTORS\r\n0,1\r\n""\r\nDATA\r\n0,0\r\n""\r\n-1,0\r\nBOT\r\n1,0\r\n"${newVin()}"\r\n-1,0\r\nEOD\r\n`,
      ),
    ],
    [
      'XML of Excel 2003',
      'XML',
      Buffer.from(
        `<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet><Table><Row><Cell><Data>${newVin()}</Data></Cell></Row></Table></Worksheet></Workbook>`,
      ),
    ],
    [
      'a web archive',
      'a web page',
      Buffer.from(`MIME-Version: 1.0\nX-Document-Type: Workbook\n\n<td>${newVin()}</td>`),
    ],
    ['PDF', 'a PDF document', Buffer.from(`%PDF-1.7\nVIN ${newVin()}\n`)],
    ['an old workbook', 'an old Excel workbook', Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1')],
  ])('in another format, %s, is a 415 that says what to do, whatever its label', async (_, what, file) => {
    const advice = 'save it as .xlsx or "CSV UTF-8", and send that.';
    for (const type of ['text/csv', 'application/vnd.ms-excel', 'application/octet-stream']) {
      const [{ body }, vehicles] = await upload(file, type);
      expect([body.code, vehicles]).toEqual(['UNSUPPORTED_MEDIA_TYPE', []]);
      expect(body.detail).toEqual(expect.stringContaining(what));
      expect(body.detail).toEqual(expect.stringContaining(advice));
    }
    if (way === 'a body') return;
    for (const type of ['application/xml', 'text/xml', 'application/pdf', 'application/x-sylk']) {
      const [{ body }] = await upload(file, type);
      expect(body.code).toBe('UNSUPPORTED_MEDIA_TYPE');
      expect(body.detail).toEqual(expect.stringContaining(advice));
    }
  });

  test('with a header that begins as SYLK does is CSV all the same', async () => {
    for (const header of ['ID;Plate;VIN', 'ID;P;VIN', 'ID;PLATE;N;VIN', 'ID;PLATE;E;VIN']) {
      const row = header.replace('VIN', newVin()).replace('ID', 'C');
      const [{ body }] = await upload(Buffer.from(`${header}\n${row}\n`), 'text/csv');
      expect([header, body.summary?.created]).toEqual([header, 1]);
    }
  });

  test.each<[string, (vin: string) => string]>([
    ['a unit separator before a value', (vin) => `VIN\n\x1f${vin}\n`],
    ['separators and shifts of scanners around it', (vin) => `VIN\n\x1d\x1e${vin}\x0e\x0f\x04\n`],
    ['marks of direction around it', (vin) => `VIN\n\u200e\u202a${vin}\u202c\u200f\n\n`],
    ['isolates around it, in quotes', (vin) => `VIN\n"\u2066${vin}\u2069"\n`],
    ['marks of direction before its name', (vin) => `plate,\u200fVIN\nx,${vin}\n`],
    ['a column called Serial', (vin) => `Asset Tag,Serial,Model\nA1,${vin},X\n`],
  ])('with %s is read', async (_, write) => {
    const vin = newVin();
    const [{ body }, vehicles] = await upload(Buffer.from(write(vin)), 'text/csv');
    expect([body.summary?.created, vehicles]).toMatchObject([1, [{ vin }]]);
  });

  test('of barcodes with the I of imported cars suggests the VIN behind it', async () => {
    const vin = newVin();
    const [{ body }] = await upload(Buffer.from(`VIN\n${newVin()}\nI${vin}\n`), 'text/csv');
    expect(body.rejected).toMatchObject([
      { code: 'VIN_INVALID_LENGTH', message: expect.stringContaining(`Did you mean ${vin}?`) },
    ]);
  });

  test('of numbers that a spreadsheet has rounded is refused row by row, CSV and workbook alike', async () => {
    for (const value of ['12345678901234500', '12345678901234600.00', '1.23456789012346E+16']) {
      const refused = [{ code: 'VIN_SPREADSHEET_DAMAGE' }];
      expect((await upload(Buffer.from(`VIN\n${newVin()}\n${value}\n`), 'text/csv'))[0].body.rejected).toMatchObject(
        refused,
      );
      const number = `<row><c t="inlineStr"><is><t>${newVin()}</t></is></c></row><row><c><v>${value}</v></c></row>`;
      expect((await upload(workbookOf(number), XLSX))[0].body.rejected).toMatchObject(refused);
    }
  });

  test('that is damaged, too large or no spreadsheet leaves the fleet unchanged', async () => {
    const whole = await fixture('exceljs.xlsx');
    const cases: [Buffer, string][] = [
      [whole.subarray(0, whole.length / 2), 'VALIDATION_FAILED'],
      [workbookOf('<row/>'.repeat(1_000_000)), 'PAYLOAD_TOO_LARGE'],
      // 1,000 cells share one text of 8,000 characters.
      [
        workbookOf(`<row><c t="inlineStr"><is><t>${newVin()}</t></is></c><c t="s"><v>0</v></c></row>`.repeat(1000), {
          'xl/sharedStrings.xml': `<sst><si><t>${'x'.repeat(8000)}</t></si></sst>`,
        }),
        'PAYLOAD_TOO_LARGE',
      ],
      [Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), Buffer.alloc(1_000_000)]), 'PAYLOAD_TOO_LARGE'],
      [sheetOf([]), 'VALIDATION_FAILED'],
      [workbookOf('<row><c t="s"><v>-1</v></c></row>'), 'VALIDATION_FAILED'],
      [gzipSync(`vin\n${newVin()}\n`), 'UNSUPPORTED_MEDIA_TYPE'],
      [zstdCompressSync(`vin\n${newVin()}\n`), 'UNSUPPORTED_MEDIA_TYPE'],
    ];
    for (const [file, code] of cases) {
      const [{ body }, vehicles] = await upload(file, XLSX);
      expect([body.code, vehicles]).toEqual([code, []]);
    }
  });
});

test('the import names the sheet when read again, replayed or refused, and not for a CSV', async () => {
  const client = await gateway.as('sheets');
  const fleet = await createFleet(client);
  const file = workbookOfSheets([
    { name: 'Cover', rows: rowsOf([['Fleet']]) },
    { name: 'Cars', rows: rowsOf([['VIN'], [newVin()], ['SHORT']]) },
  ]);
  const importId = crypto.randomUUID();
  const path = `/vehicles/file?fleetId=${fleet.id}&importId=${importId}`;
  const headers = { 'content-type': XLSX, 'idempotency-key': crypto.randomUUID() };
  const refused = await client.post(`${path}&mode=atomic`, new Blob([new Uint8Array(file)]), headers);
  expect([refused.status, refused.body.sheet, refused.body.importId]).toEqual([400, 'Cars', importId]);
  const told = async () => {
    const { body } = await client.get(`/imports/${importId}`);
    const query = `query ($id: ID!) { import(id: $id) { sheet failureCode fleet { imports { nodes { sheet failureCode } } } } }`;
    const answer = await client.post('/graphql', { query, variables: { id: importId } });
    const { fleet, ...shown } = answer.body.data.import;
    expect(fleet.imports.nodes).toContainEqual(shown);
    return [body.state, body.sheet, shown.sheet, body.failureCode, shown.failureCode];
  };
  expect(await told()).toEqual(['FAILED', 'Cars', 'Cars', 'ROWS_REJECTED', 'ROWS_REJECTED']);
  expect((await client.post(`${path}&mode=atomic`, '%PDF', { 'content-type': 'text/csv' })).status).toBe(415);
  expect(await told()).toEqual(['FAILED', null, null, 'UNSUPPORTED_MEDIA_TYPE', 'UNSUPPORTED_MEDIA_TYPE']);
  await gateway.execute(`update import set failure_code = 'OF_ANOTHER_VERSION' where id = '${importId}'`);
  expect(await told()).toEqual(['FAILED', null, null, 'OF_ANOTHER_VERSION', 'OTHER']);
  await gateway.execute(`update import set failure_code = null where id = '${importId}'`);
  expect(await told()).toEqual(['FAILED', null, null, null, null]);

  const other = crypto.randomUUID();
  const sent = () =>
    client.post(`/vehicles/file?fleetId=${fleet.id}&importId=${other}`, new Blob([new Uint8Array(file)]), {
      'content-type': XLSX,
    });
  const [first, again] = [await sent(), await sent()];
  expect([first.status, first.body.sheet]).toEqual([201, 'Cars']);
  expect(again.body).toEqual(first.body);

  const csv = await client.post(`${path}&mode=atomic`, `VIN\n${newVin()}\n`, { 'content-type': 'text/csv' });
  expect([csv.status, csv.body.sheet]).toEqual([201, null]);
  expect(await told()).toEqual(['COMPLETED', null, null, null, null]);
});

test('the refused rows of a sheet are CSV with its columns, for correction', async () => {
  const client = await gateway.as('mending');
  const fleet = await createFleet(client);
  const path = `/vehicles/file?fleetId=${fleet.id}`;
  const { body } = await client.post(path, new Blob([await fixture('libreoffice.xlsx')]), { 'content-type': XLSX });
  const { body: csv } = await client.get(body.rejectedCsv);
  expect(csv.replace('\ufeff', '').split('\n')[0]).toBe(
    'Zulassung,Fahrgestellnummer,Kilometer,Bemerkung,error_code,error_message',
  );
  expect(csv).toContain("'=1+1");
  const mended = csv.replace('1.23456789012346E+16', newVin()).replace('SHORT', newVin());
  const again = await client.post(path, mended, { 'content-type': 'text/csv' });
  expect([again.status, again.body.summary]).toEqual([201, { received: 2, created: 2, existing: 0, rejected: 0 }]);
});

describe('a file as the body', () => {
  const send = async (search: string, body: string | Buffer, headers: Record<string, string>) =>
    (await gateway.as('bodies')).post(`/vehicles/file${search}`, body, headers);
  const csv = { 'content-type': 'text/csv; charset=utf-8' };

  test('accepts what the form accepts: mode, dryRun, importId, keys', async () => {
    const { id } = await createFleet(await gateway.as('bodies'));
    const [vin = '', other = ''] = newVins(2);
    const atomic = await send(`?fleetId=${id}&mode=atomic`, `${vin}\nSHORT\n`, csv);
    expect([atomic.status, atomic.body.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect((await send(`?fleetId=${id}&dryRun=true`, vin, csv)).status).toBe(200);
    const importId = crypto.randomUUID();
    const key = { ...csv, 'idempotency-key': crypto.randomUUID() };
    const first = await send(`?fleetId=${id}&importId=${importId}`, `${vin}\n${other}`, key);
    expect([first.status, first.body.importId, first.body.summary.created]).toEqual([201, importId, 2]);
    const again = await send(`?fleetId=${id}&importId=${importId}`, `${vin}\n${other}`, key);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await send(`?fleetId=${id}&importId=${importId}`, vin, key)).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  test('needs a fleet, a content type and an allowed size', async () => {
    const { id } = await createFleet(await gateway.as('bodies'));
    const theirs = await createFleet(await gateway.as('others'));
    const codes = async (...sent: Parameters<typeof send>) => {
      const { status, body } = await send(...sent);
      return [status, body.code];
    };
    expect(await codes('', newVin(), csv)).toEqual([400, 'FLEET_ID_MISSING']);
    expect(await codes('?fleetId=', newVin(), csv)).toEqual([400, 'FLEET_ID_MISSING']);
    for (const fleetId of [theirs.id, 'none'])
      expect(await codes(`?fleetId=${fleetId}`, newVin(), csv)).toEqual([404, 'FLEET_NOT_FOUND']);
    for (const type of ['application/json', 'image/png', 'application/x-www-form-urlencoded'])
      expect(await codes(`?fleetId=${id}`, newVin(), { 'content-type': type })).toEqual([
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ]);
    expect(await codes(`?fleetId=${id}`, 'x'.repeat(3_000_000), csv)).toEqual([400, 'VALIDATION_FAILED']);
    expect(await codes(`?fleetId=${id}`, `${newVin()}\n`.repeat(100_000), csv)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(await codes(`?fleetId=${id}`, '', csv)).toEqual([400, 'VALIDATION_FAILED']);
  });

  test.each([
    ['CSV', 'text/csv', Buffer.from(`vin\n${newVins(1000).join('\n')}\n`)],
    ['a workbook', XLSX, sheetOf(newVins(1000))],
  ])('%s whose client disconnects during the upload stores nothing', async (_, type, file) => {
    const client = await gateway.as('leavers');
    const fleet = await createFleet(client);
    const { hostname, port } = new URL(gateway.url);
    const importId = crypto.randomUUID();
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /vehicles/file?fleetId=${fleet.id}&importId=${importId} HTTP/1.1\r\nHost: x\r\nAuthorization: ${client.headers.authorization}\r\n` +
        `Content-Type: ${type}\r\nContent-Length: ${file.length}\r\n\r\n`,
    );
    socket.write(file.subarray(0, file.length - 50));
    await until(async () => (await client.get(`/imports/${importId}`)).status === 200);
    socket.destroy();
    const ended = await until(async () => {
      const { body } = await client.get(`/imports/${importId}`);
      return body.state === 'FAILED' ? body : null;
    });
    expect(ended).toMatchObject({ created: 0, failureCode: 'UPLOAD_CUT_OFF' });
    expect((await client.get(`/fleets/${fleet.id}`)).body.vehicleCount).toBe(0);
  });
});

describe('a workbook of many sheets without VINs', () => {
  const blank = '<row><c/></row>'.repeat(20_000);
  const named = (count: number, rows: string) =>
    workbookOfSheets(Array.from({ length: count }, (_, at) => ({ name: `S${at + 1}`, rows })));
  const few = named(9_000, rowsOf([['Name', 'Phone']]));
  const long = named(200, blank);

  test.each(Object.entries(ways).filter(([way]) => way !== 'a form whose fleet comes last'))(
    'is refused like a workbook that is too large to read, by %s',
    async (way) => {
      const [answer, vehicles] = (await waysTo(patient)[way]?.(few, XLSX)) ?? [];
      expect(answer?.body).toMatchObject({ code: 'VALIDATION_FAILED', errors: [{ code: 'VIN_COLUMN_MISSING' }] });
      expect(answer?.body.errors[0].message).toMatch(/^None of the first 100 sheets .*"S20", and 80 more\./);
      expect(vehicles).toEqual([]);
      const [late] = (await waysTo(impatient)[way]?.(long, XLSX)) ?? [];
      expect(late?.body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      const [large] = (await ways[way]?.(long, XLSX)) ?? [];
      expect(large?.body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    },
  );

  test('is not read further after its client disconnects', async () => {
    const client = await patient.as('leaver');
    const fleet = await createFleet(client);
    const importId = crypto.randomUUID();
    const leaving = new AbortController();
    fetch(`${patient.url}/vehicles/file?fleetId=${fleet.id}&importId=${importId}`, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': XLSX },
      body: new Uint8Array(long),
      signal: leaving.signal,
    }).catch(() => {});
    await until(async () => (await client.get(`/imports/${importId}`)).status === 200);
    leaving.abort();
    const ended = await until(async () => {
      const { body } = await client.get(`/imports/${importId}`);
      return body.state === 'FAILED' ? body : null;
    });
    expect(ended).toMatchObject({ received: 0, sheet: null });
  });
});

describe('a workbook that takes long to read', () => {
  const endless = workbookOf(
    `<row><c t="inlineStr"><is><t>vin</t></is></c></row>${'<row><c/></row>'.repeat(1_000_000)}<row><c><v>1</v></c></row>`,
  );

  test.each(Object.entries(ways).filter(([way]) => way !== 'a form whose fleet comes last'))(
    'is refused after its processor time, by %s',
    async (way) => {
      const answers = await waysTo(impatient)[way]?.(endless, XLSX);
      const [answer, vehicles] = answers ?? [];
      expect(answer?.body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      expect(answer?.body.detail ?? '').toMatch(way === 'GraphQL' ? '' : /processor time/);
      expect(vehicles).toEqual([]);
    },
  );

  test('is not read further after its client disconnects', async () => {
    const client = await patient.as('leaver');
    const fleet = await createFleet(client);
    const importId = crypto.randomUUID();
    const leaving = new AbortController();
    const sent = fetch(`${patient.url}/vehicles/file?fleetId=${fleet.id}&importId=${importId}&dryRun=true`, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': XLSX },
      body: new Uint8Array(endless),
      signal: leaving.signal,
    });
    sent.catch(() => {});
    await until(async () => (await client.get(`/imports/${importId}`)).status === 200);
    leaving.abort();
    const { body } = await until(async () => {
      const answer = await client.get(`/imports/${importId}`);
      return answer.body.state === 'FAILED' ? answer : null;
    });
    // At its end, the file has a row that would be rejected.
    expect(body).toMatchObject({ received: 0, rejected: 0 });
  });
});
