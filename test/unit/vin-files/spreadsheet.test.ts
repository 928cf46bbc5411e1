import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import writeExcelFile from 'write-excel-file/node';
import type { CsvLimits } from '../../../src/vin-files/csv/limits.ts';
import { fileErrorCodes } from '../../../src/vin-files/index.ts';
import { type CsvRow, openVinFile } from '../../../src/vin-files/table.ts';
import { rowsOf, workbookOf, workbookOfSheets, zipOf } from '../../support/zip.ts';
import { fileOf } from './file-of.ts';

const A = 'WVWZZZ1KZAW000001';
const B = 'WVWZZZ1KZAW000002';
const LIMITS: CsvLimits = { bytes: 1_000_000, rowLength: 10_000, columns: 100, fieldLength: 5_000, rows: 100_000 };

interface ReadFile {
  sheet: string | null;
  columns: string[] | null;
  rows: CsvRow[];
}

async function read(content: string | Buffer, limits: Partial<CsvLimits> = {}): Promise<ReadFile> {
  await using file = await fileOf(content);
  const table = await openVinFile(file, { ...LIMITS, ...limits });
  const rows: CsvRow[] = [];
  for await (const batch of table.rows) rows.push(...batch);
  return { sheet: table.sheet, columns: table.columns, rows };
}
const fixture = (name: string) => readFile(`test/fixtures/${name}`);
const values = ({ rows }: ReadFile) => rows.map(({ row, value }) => [row, value]);
const refusal = (file: string | Buffer, limits?: Partial<CsvLimits>): Promise<unknown> =>
  read(file, limits).then(
    () => null,
    (error: unknown) => error,
  );

/** Cells without empty ones at the end, of which CSV has more. */
const trimmed = (cells: readonly string[] | null) => cells?.join('\0').replace(/\0+$/, '').split('\0') ?? null;

describe('as programs write them', () => {
  test("LibreOffice's workbook has the rows of LibreOffice's CSV of the same sheet", async () => {
    const [sheet, csv] = [await read(await fixture('libreoffice.xlsx')), await read(await fixture('libreoffice.csv'))];
    expect(sheet.columns).toEqual(csv.columns);
    const [others, number] = [sheet.rows.toSpliced(3, 1), sheet.rows[3]];
    expect(values({ ...sheet, rows: others })).toEqual(values({ ...csv, rows: csv.rows.toSpliced(3, 1) }));
    // A number of 17 digits: each program writes the remaining precision in its own way.
    expect([number?.row, number?.value]).toEqual([9, '1.23456789012346E+16']);
    expect(sheet.rows.map(({ cells }) => trimmed(cells)?.[0])).toEqual(['2024-03-01', '', '', '', '']);
    const texts = ({ rows }: ReadFile) => rows.map(({ cells }) => cells?.slice(2) ?? []).map(trimmed);
    expect(texts(sheet)).toEqual(texts(csv));
  });

  test("exceljs's: a hidden sheet first, merged titles, rich text, formulas, links, errors, missing rows", async () => {
    const { columns, rows } = await read(await fixture('exceljs.xlsx'));
    expect(columns).toEqual(['Immatriculé le', 'N° de châssis', 'Actif', 'Note']);
    expect(rows.map(({ row, cells }) => [row, trimmed(cells)])).toEqual([
      [4, ['2025-12-24 18:30:00', 'WBA3A5C50CF256985', 'TRUE', 'a;b\tc']],
      [5, ['2025-01-02', A, 'FALSE', '#N/A']],
      [40, ['0.1', 'wvwzzz1kzaw000002 ', '', 'site']],
      [41, ['', '1.2345678901234568E+16']],
      [43, ['', 'WBA3A5C50CF25698O']],
    ]);
  });
});

const text = fc.oneof(
  fc.string({ maxLength: 12, unit: fc.constantFrom(...'ab1 ,;\t|"\'=\n\u00e4\u5317<&>_') }),
  fc.constantFrom(A, B, ` ${A.toLowerCase()} `, 'vin', '{"a":1}', '<html>', '=1+1', "'x"),
);
const cell = fc.oneof(
  { weight: 4, arbitrary: text.map((value) => ({ value, text: value })) },
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e14, max: 1e14 })
    .map((value) => ({ value: value + 0, text: String(value + 0) })),
  fc.boolean().map((value) => ({ value, text: value ? 'TRUE' : 'FALSE' })),
  fc.date({ min: new Date('1901-01-01'), max: new Date('2200-01-01'), noInvalidDate: true }).map((date) => {
    const value = new Date(Math.floor(date.getTime() / 86_400_000) * 86_400_000);
    return { value, text: value.toISOString().slice(0, 10), format: 'yyyy-mm-dd' };
  }),
);

/** Rows as CSV without empty cells at the end, which a sheet does not show. */
const asCsv = (rows: readonly (readonly { text: string }[])[]) =>
  rows
    .map((cells) => cells.slice(0, cells.findLastIndex((one) => one.text !== '') + 1))
    .map((cells) => cells.map((one) => `"${one.text.replaceAll('"', '""')}"`).join(','))
    .join('\n');

test('any sheet is the table that it would be as CSV', async () => {
  const sheets = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });
  const headed = sheets.map((rows) => [
    [
      { value: 'No', text: 'No' },
      { value: 'VIN', text: 'VIN' },
    ],
    ...rows,
  ]);
  await fc.assert(
    fc.asyncProperty(fc.oneof(headed, sheets), async (rows) => {
      const data = rows.map((cells) =>
        cells.map(({ text: _, ...one }) =>
          one.value === '' ? null : { ...one, type: (one.value as object).constructor },
        ),
      );
      const file = await writeExcelFile(data as never).toBuffer();
      const told = async (input: string | Buffer) => {
        const outcome = await read(input).catch((error) => ({ code: error.code }));
        if (!('rows' in outcome)) return outcome;
        return outcome.rows;
      };
      expect(await told(file)).toEqual(await told(`\ufeffsep=,\n${asCsv(rows)}`));
    }),
    { numRuns: 150 },
  );
});

describe('which sheet is read', () => {
  /** Kinds of sheets, and whether they have a column of VINs that needs no look at other sheets. */
  const kinds: Record<string, [rows: string[][], vins: boolean]> = {
    empty: [[], false],
    blank: [[[''], [' ']], false],
    cover: [[['Fleet 2026'], ['Berlin']], false],
    notes: [
      [
        ['Name', 'Phone', 'Since'],
        ['Ada', '030 1234', '2024'],
      ],
      false,
    ],
    unnamed: [
      [
        ['Nr', 'Fahrzeug'],
        ['1', A],
      ],
      false,
    ],
    long: [Array.from({ length: 60 }, (_, at) => [String(at), 'x']), false],
    headed: [
      [
        ['plate', 'VIN'],
        ['x', A],
      ],
      true,
    ],
    titled: [[['Vehicles'], [], ['NIV', 'plaque'], [A, 'x']], true],
    headless: [[[A], [B]], true],
    wrong: [[['VIN'], ['WVW1']], true],
  };
  const sheet = fc.tuple(fc.constantFrom(...Object.keys(kinds)), fc.boolean());

  test('the first visible one with VINs, in the order of the workbook; or a refusal that names all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sheet, { minLength: 1, maxLength: 8 }), async (given) => {
        const named = given.map(([kind, hidden], at) => ({ kind, hidden, name: `${at} ${kind} & "co" <é>` }));
        const visible = named.some(({ hidden }) => !hidden) ? named.filter(({ hidden }) => !hidden) : named;
        const expected = visible.find(({ kind }) => kinds[kind]?.[1]) ?? visible.find(({ kind }) => kind === 'unnamed');
        const file = workbookOfSheets(
          named.map(({ kind, ...one }) => ({ ...one, rows: rowsOf(kinds[kind]?.[0] ?? []) })),
        );
        if (expected) {
          const found = await read(file);
          expect([found.sheet, values(found)]).toEqual([
            expected.name,
            values(await read(workbookOf(rowsOf(kinds[expected.kind]?.[0] ?? [])))),
          ]);
        } else if (
          visible.filter(({ kind }) => !['empty', 'blank'].includes(kind)).every(({ kind }) => kind === 'cover')
        ) {
          // A single column with digits counts as a list of wrong VINs if no other sheet has VINs.
          expect(['NO_ROWS', 'VIN_COLUMN_MISSING', undefined]).toContain(
            ((await refusal(file)) as { code?: string } | null)?.code,
          );
        } else {
          const error = (await refusal(file)) as { message: string };
          expect(error).toMatchObject({ code: 'VIN_COLUMN_MISSING' });
          if (visible.length > 1) for (const { name } of visible) expect(error.message).toContain(`"${name}"`);
          expect(error.message.includes('Hidden sheets are not read.')).toBe(visible.length < named.length);
          for (const { name } of named.filter((one) => !visible.includes(one)))
            expect(error.message).not.toContain(name);
        }
      }),
      { numRuns: 300 },
    );
  });

  const sheets = (...all: [name: string, rows: string[][]][]) =>
    workbookOfSheets(all.map(([name, rows]) => ({ name, rows: rowsOf(rows) })));

  test('a single one that looks like a list of wrong VINs, though not a cover beside others', async () => {
    const damaged = [['1.0E+16', 'x']];
    expect((await read(sheets(['A', []], ['B', [['WVW1'], ['WVW2']]], ['C', []]))).sheet).toBe('B');
    expect((await read(sheets(['A', [['Name', 'Phone']]], ['B', damaged], ['C', damaged]))).sheet).toBe('B');
    expect(await refusal(sheets(['A', [['Fleet 2026']]], ['B', [['Name', 'Phone']]]))).toMatchObject({
      message: expect.stringMatching(/^No sheet of the workbook has a column of VINs: "A", "B"\. Name the column vin,/),
      details: { sheets: ['A', 'B'] },
    });
    expect(await refusal(sheets(['A', []], ['B', []]))).toMatchObject({
      message: 'The sheets of the workbook hold no rows: "A", "B".',
      code: 'NO_ROWS',
    });
  });

  test('as a library writes them', async () => {
    const cells = (...texts: string[]) => texts.map((value) => ({ value, type: String }));
    const file = await writeExcelFile([
      { data: [cells('How to use this file')], sheet: 'Read me' },
      { data: [cells('Kennzeichen', 'FIN (17)'), cells('x', A)], sheet: 'Fahrzeuge & Co' },
    ] as never).toBuffer();
    expect(await read(file)).toMatchObject({ sheet: 'Fahrzeuge & Co', rows: [{ row: 2, value: A }] });
  });

  test('a row that cannot be read is named with its sheet', async () => {
    const file = sheets(['Cover', [['Fleet']]], ['Vehicles', [['VIN'], [A], ['x'.repeat(5001)]]]);
    expect(await refusal(file)).toMatchObject({
      message: 'Sheet "Vehicles": Row 3 has a cell of more than 5,000 characters.',
      code: 'FIELD_TOO_LONG',
      details: { row: 3, sheet: 'Vehicles' },
    });
    expect(await refusal(sheets(['Cover', [['Fleet']]], ['Vehicles', [['VIN']]]))).toMatchObject({
      message: 'Sheet "Vehicles": The file holds no rows, only a header.',
      details: { sheet: 'Vehicles' },
    });
  });

  test('odd names are kept without what no database takes', async () => {
    const file = workbookOfSheets([{ name: `\ud800a${'x'.repeat(200)}`, rows: rowsOf([[A]]) }]);
    expect((await read(file)).sheet).toBe(`\ufffda${'x'.repeat(98)}`);
  });

  const notes = rowsOf([['Name'], ['Ada']]);
  const many = (count: number, last: string) =>
    workbookOfSheets(
      Array.from({ length: count }, (_, at) => ({ name: `S${at + 1}`, rows: at + 1 < count ? notes : last })),
    );

  test('the first hundred are looked at', async () => {
    expect((await read(many(100, rowsOf([[A]])))).sheet).toBe('S100');
    expect(await refusal(many(101, rowsOf([[A]])))).toMatchObject({
      code: 'VIN_COLUMN_MISSING',
      message: expect.stringMatching(
        /^None of the first 100 sheets has a column of VINs: "S1", .*"S20", and 80 more\. Move /,
      ),
    });
  });

  test.each([9_990, 10_000])('a workbook of %d sheets without VINs ends in no time', async (count) => {
    const file = many(count, notes);
    const before = process.cpuUsage();
    const error = await refusal(file, { bytes: 100_000_000 });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(5);
    expect(error).toMatchObject(
      count < 10_000
        ? { code: 'VIN_COLUMN_MISSING' }
        : { code: 'FILE_TOO_LARGE', message: expect.stringContaining('more than 10,000 parts') },
    );
  });
});

describe('the parts of a workbook', () => {
  const row = (cells: string, at = '') => `<x:row${at && ` r="${at}"`}>${cells}</x:row>`;
  const inline = (value: string, place = '') =>
    `<x:c${place && ` r="${place}"`} t="inlineStr"><x:is><x:t>${value}</x:t></x:is></x:c>`;

  test('cells and rows without places, with prefixes, texts in the cells, and readings of characters', async () => {
    const strings = `<sst><si><t>${A}</t><rPh sb="0" eb="1"><t>no</t></rPh></si></sst>`;
    const file = workbookOf(row(inline('plate') + inline('vin')) + row(`${inline('x')}<x:c t="s"><x:v>0</x:v></x:c>`), {
      'xl/sharedStrings.xml': strings,
    });
    expect((await read(file)).rows).toEqual([{ row: 2, value: A, cells: ['x', A] }]);
  });

  test('a formula without a stored value is shown as a formula; one whose value is empty is empty', async () => {
    const formulas = [
      '<x:c><x:f>B2&amp;"x"</x:f></x:c>',
      '<x:c><x:f>B2</x:f><x:v></x:v></x:c>',
      '<x:c t="n"><x:f t="shared" si="0"/><x:v/></x:c>',
      '<x:c t="str"><x:f>B2</x:f></x:c>',
      '<x:c t="str"><x:f>IF(B2="","",B2)</x:f><x:v></x:v></x:c>',
      `<x:c t="str"><x:f>C2</x:f><x:v>${A}</x:v></x:c>`,
      '<x:c t="e"><x:f>VLOOKUP(A2,C:D,2)</x:f><x:v>#N/A</x:v></x:c>',
      '<x:c><x:f>1+1</x:f><x:v>2</x:v></x:c>',
      `<x:c><x:f>${'A1+'.repeat(5000)}A1</x:f></x:c>`,
    ];
    const rows = formulas.map((formula) => row(inline('x') + formula)).join('');
    const { rows: found } = await read(workbookOf(row(inline('plate') + inline('vin')) + rows));
    expect(found.map(({ cells }) => cells?.[1]?.slice(0, 20))).toEqual([
      '=B2&"x"',
      '=B2',
      '=',
      '=B2',
      undefined,
      A,
      '#N/A',
      '2',
      '=A1+A1+A1+A1+A1+A1+A',
    ]);
  });

  test('days are counted from 1904 where the workbook says so', async () => {
    const workbook = `<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet r:id="a"/></sheets></workbook>`;
    const file = workbookOf(row(`${inline(A)}<x:c s="1"><x:v>0.5</x:v></x:c><x:c s="1"><x:v>1</x:v></x:c>`), {
      'xl/workbook.xml': workbook,
      'xl/styles.xml':
        '<s><numFmts><numFmt numFmtId="170" formatCode="[Red]dd/mm"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></s>',
    });
    expect((await read(file)).rows[0]?.cells).toEqual([A, '12:00:00', '1904-01-02']);
  });

  const styled = (formats: string) =>
    workbookOf(row(`${inline(A)}<x:c s="0"><x:v>1</x:v></x:c>`), {
      'xl/styles.xml': `<s><numFmts>${formats}</numFmts><cellXfs><xf numFmtId="200"/></cellXfs></s>`,
    });
  const format = (code: string) => `<numFmt numFmtId="200" formatCode="${code}"/>`;

  test('formats full of brackets that are never closed take little time', async () => {
    const file = styled(format('['.repeat(1000)).repeat(10_000));
    expect(file.length).toBeLessThan(100_000);
    const before = process.cpuUsage();
    await read(file, { bytes: 5_000_000 });
    const { user } = process.cpuUsage(before);
    expect(user / 1e6).toBeLessThan(3);
  });

  test('formats of one number count as often as they are written', async () => {
    const formats = format('0').repeat(65_535);
    const large = { bytes: 5_000_000 };
    expect((await read(styled(formats + format('yyyy')), large)).rows[0]?.cells).toEqual([A, '1900-01-01']);
    expect((await read(styled(format('0') + formats + format('yyyy')), large)).rows[0]?.cells).toEqual([A, '1']);
  });

  test.each([
    ['a cell in column 101', row(inline(A)) + row(inline('x', 'CW2')), { code: 'TOO_MANY_COLUMNS', row: 2 }],
    [
      'a cell in the last column of all',
      row(inline(A)) + row(inline('x', 'XFD2')),
      { code: 'TOO_MANY_COLUMNS', row: 2 },
    ],
    ['a long text', row(inline(A)) + row(inline('x'.repeat(5001)), '9'), { code: 'FIELD_TOO_LONG', row: 9 }],
    ['no rows', '', { code: 'NO_ROWS' }],
    ['rows in another order', row(inline(A), '5') + row(inline(B), '4'), { code: 'WORKBOOK_DAMAGED' }],
    ['a row beyond all sheets', row(inline(A), '1048577'), { code: 'WORKBOOK_DAMAGED' }],
    ['a row with a wrong number', row(inline(A), 'x'), { code: 'WORKBOOK_DAMAGED' }],
    ['a cell with a wrong place', row(inline(A, '7')), { code: 'WORKBOOK_DAMAGED' }],
    ['text that is no XML', '<x:row><x:c></x:row>', { code: 'WORKBOOK_DAMAGED' }],
    ['levels without end', '<x:a>'.repeat(10_000), { code: 'WORKBOOK_DAMAGED' }],
    [
      'attributes without end',
      `<x:row ${Array.from({ length: 10_000 }, (_, at) => `a${at}=""`).join(' ')}/>`,
      { code: 'WORKBOOK_DAMAGED' },
    ],
    ['an entity', row(inline('&a;')), { code: 'WORKBOOK_DAMAGED' }],
  ])('%s is refused', async (_, rows, { code, ...details }) => {
    expect(await refusal(workbookOf(rows))).toMatchObject({ code, details });
  });

  test('entities of entities are not resolved', async () => {
    const bomb = `<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x:worksheet>${row(inline('&b;'))}</x:worksheet>`;
    expect(await refusal(workbookOf('', { 'xl/worksheets/one.xml': bomb }))).toMatchObject({
      code: 'WORKBOOK_DAMAGED',
    });
  });

  test('a workbook that swells when it is unpacked is too large, however small its file', async () => {
    const file = workbookOf('<x:row/>'.repeat(600_000));
    expect(file.length).toBeLessThan(100_000);
    expect(await refusal(file)).toMatchObject({ code: 'FILE_TOO_LARGE' });
    expect(
      await refusal(workbookOf('', { 'xl/sharedStrings.xml': `<sst>${' '.repeat(5_000_000)}</sst>` })),
    ).toMatchObject({
      code: 'FILE_TOO_LARGE',
    });
  });

  test('texts that no memory would hold are too large', async () => {
    const strings = `<sst>${'<si><t/></si>'.repeat(200_000)}</sst>`;
    const file = workbookOf(row(inline(A)), { 'xl/sharedStrings.xml': strings });
    const large = { bytes: 100_000_000 };
    // Many empty texts need little memory; some thousands of long ones are too large.
    expect(values(await read(file, large))).toEqual([[1, A]]);
    const long = `<sst>${`<si><t>${'x'.repeat(5_000)}</t></si>`.repeat(13_500)}</sst>`;
    expect(await refusal(workbookOf(row(inline(A)), { 'xl/sharedStrings.xml': long }), large)).toMatchObject({
      code: 'FILE_TOO_LARGE',
    });
  });

  test.each(['-1', '0.5', '1', '1e9', 'x', 'NaN'])('an unknown text number %s', async (number) => {
    const strings = { 'xl/sharedStrings.xml': `<sst><si><t>${A}</t></si></sst>` };
    const file = workbookOf(row(inline(A)) + row(`<x:c t="s"><x:v>${number}</x:v></x:c>`), strings);
    expect(await refusal(file)).toMatchObject({ code: 'WORKBOOK_DAMAGED' });
  });

  test('odd values of any attribute are read or refused', async () => {
    const odd = fc.constantFrom(
      ...[
        '',
        ' ',
        '0',
        '-0',
        '-1',
        '0.5',
        '1.5',
        '2',
        '1e3',
        '1e309',
        '-1e309',
        'NaN',
        'Infinity',
        '0x1',
        '9'.repeat(40),
      ],
      ...[
        '65536',
        '1048576',
        '1048577',
        '2147483648',
        '4294967296',
        'A',
        'A0',
        'XFD1',
        'XFE1',
        'ZZZZZZ1',
        '$A$1',
        's',
        'n',
      ],
      ...['b', 'd', 'e', 'str', 'hidden', '__proto__', 'constructor', '../../x', '/', 'xl/styles.xml', '\ufffd'],
    );
    const places = 32;
    const values = fc.array(fc.option(odd, { freq: 4, nil: undefined }), { minLength: places, maxLength: places });
    await fc.assert(
      fc.asyncProperty(values, async (given) => {
        let place = 0;
        const or = (usual: string) => given[place++] ?? usual;
        const cell = (value: string) => `<c r="${or('A1')}" s="${or('0')}" t="${or('s')}"><v>${or(value)}</v></c>`;
        const file = workbookOf(`<row r="${or('1')}">${cell('0')}</row><row r="${or('2')}">${cell('1')}</row>`, {
          'xl/workbook.xml': `<w xmlns:r="r"><workbookPr date1904="${or('0')}"/><sheets>
            <sheet sheetId="${or('1')}" state="${or('visible')}" r:id="${or('a')}"/></sheets></w>`,
          'xl/_rels/workbook.xml.rels': `<R><Relationship Id="${or('a')}" Type="http://x/worksheet"
            Target="${or('worksheets/one.xml')}"/></R>`,
          'xl/styles.xml': `<s><numFmts count="${or('1')}"><numFmt numFmtId="${or('170')}" formatCode="${or('yyyy')}"/>
            </numFmts><cellXfs count="${or('1')}"><xf numFmtId="${or('170')}"/></cellXfs></s>`,
          'xl/sharedStrings.xml': `<sst count="${or('2')}" uniqueCount="${or('2')}"><si><t>vin</t></si>
            <si><t>${A}</t><rPh sb="${or('0')}" eb="${or('1')}"><t>no</t></rPh></si></sst>`,
        });
        expect(place).toBeLessThanOrEqual(places);
        const error = (await refusal(file)) as { code?: string } | null;
        if (error) expect([...fileErrorCodes, 'FILE_TOO_LARGE']).toContain(error.code);
      }),
      { numRuns: 1500 },
    );
  });

  test('bytes behind the archive are none of it, with or without a comment in it', async () => {
    const whole = zipOf({ 'vins.csv': A });
    const workbook = await fixture('exceljs.xlsx');
    const expected = await read(workbook);
    const comment = Buffer.from('made by a program');
    const commented = Buffer.concat([workbook, comment]);
    commented.writeUInt16LE(comment.length, workbook.length - 2);
    for (const archive of [workbook, commented]) {
      for (const behind of [
        Buffer.from('\n'),
        Buffer.alloc(40_000),
        Buffer.from('PK\x05\x06'),
        Buffer.from('PK\x05\x06'.repeat(30)),
      ])
        expect(await read(Buffer.concat([archive, behind]))).toEqual(expected);
    }
    expect(await refusal(Buffer.concat([whole, Buffer.from('\r\n')]))).toMatchObject({
      code: 'NOT_A_TABLE',
    });
    expect(await refusal(Buffer.concat([workbook, Buffer.alloc(200_000)]))).toMatchObject({
      code: 'WORKBOOK_DAMAGED',
    });
  });

  test('false sizes', async () => {
    const rows = row(inline(A)).repeat(1000);
    for (const claimed of [0, 10, 10_000_000])
      expect(await refusal(workbookOf(rows, {}, claimed))).toMatchObject({ code: 'WORKBOOK_DAMAGED' });
  });

  test.each(['word/document.xml', 'content.xml', 'vins.csv', 'xl/workbook.bin'])(
    'an archive of something else is no workbook: %s',
    async (name) => {
      expect(await refusal(zipOf({ [name]: A }))).toMatchObject({ code: 'NOT_A_TABLE' });
    },
  );

  test('a damaged file is refused, wherever it is damaged', async () => {
    const whole = await fixture('libreoffice.xlsx');
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), async (at, byte, cut) => {
        const file = Buffer.from(cut ? whole.subarray(0, Math.max(at, 4)) : whole);
        if (!cut && at >= 4) file[at] = byte;
        const error = (await refusal(file)) as { code?: string } | null;
        if (error) expect([...fileErrorCodes, 'NOT_A_TABLE', 'FILE_TOO_LARGE']).toContain(error.code);
      }),
      { numRuns: 400 },
    );
  });
});
