import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CsvLimits } from '../../../src/vin-files/csv/limits.ts';
import { openVinFile } from '../../../src/vin-files/table.ts';
import { rowsOf, type WorkbookStyle, workbookAs, zipOf } from '../../support/zip.ts';
import { fileOf } from './file-of.ts';

const A = 'WVWZZZ1KZAW000001';
const LIMITS: CsvLimits = { bytes: 1_000_000, rowLength: 10_000, columns: 100, fieldLength: 5_000, rows: 100_000 };

async function read(content: Buffer) {
  await using file = await fileOf(content);
  const { rows, ...layout } = await openVinFile(file, LIMITS);
  const values: string[] = [];
  for await (const batch of rows) values.push(...batch.map(({ value }) => value));
  return { ...layout, values };
}

const table = [
  ['vin', 'plate'],
  [A, 'x'],
  ['SHORT', 'x'],
];
const TOLD = { sheet: 'S', column: 'vin', values: [A, 'SHORT'] };

const folder = fc.constantFrom('', 'xl/', 'XL/', 'a/b/', 'x y/', 'ü/');
const ofSheet = fc.constantFrom(
  'worksheets/sheet1.xml',
  'Sheet1.xml',
  'sheets/1 of 2.xml',
  '../data/S.xml',
  'xl/sheet.XML',
);
const encoded = (name: string) => encodeURI(name);
const style: fc.Arbitrary<WorkbookStyle> = fc.record({
  folder,
  workbook: fc.constantFrom('workbook.xml', 'Workbook.xml', 'book', 'workbook2.xml'),
  sheet: ofSheet,
  texts: fc.constantFrom('sharedStrings.xml', 'SharedStrings.xml', 'texts', '../strings/all.xml'),
  stored: fc.constantFrom<WorkbookStyle['stored']>(
    (name) => name,
    (name) => name.toLowerCase(),
    (name) => name.toUpperCase(),
    (name) => `/${name}`,
    (name) => name.replaceAll('/', '\\'),
    encoded,
  ),
  target: fc.constantFrom<WorkbookStyle['target']>(
    (relative) => encoded(relative),
    (_, absolute) => encoded(`/${absolute}`),
    (relative) => `./${relative}`,
    (relative) => relative.toUpperCase(),
    (_, absolute) => `/${absolute}`.replaceAll('/', '\\'),
  ),
  prefix: fc.constantFrom('', 'x', 'spreadsheet'),
  idPrefix: fc.constantFrom('r', 'rel', 'd3p1'),
  strict: fc.boolean(),
  shared: fc.boolean(),
  reversed: fc.boolean(),
});

test('parts of a workbook are found by their relationships: in any folder, case, order and namespace', async () => {
  await fc.assert(
    fc.asyncProperty(style, async (one) => {
      expect(await read(workbookAs(table, one))).toMatchObject(TOLD);
    }),
    { numRuns: 1000 },
  );
});

const usual: WorkbookStyle = {
  ...{ folder: 'xl/', workbook: 'workbook.xml', sheet: 'worksheets/sheet1.xml', texts: 'sharedStrings.xml' },
  ...{ stored: (name) => name, target: (relative) => relative, prefix: '', idPrefix: 'r' },
  ...{ strict: false, shared: true, reversed: false },
};

test.each<[string, Partial<WorkbookStyle>]>([
  ['shared texts with a capital', { stored: (name) => name.replace('sharedS', 'SharedS') }],
  ['a sheet with a capital', { stored: (name) => name.replace('sheet1', 'Sheet1'), shared: false }],
  ['everything in capitals', { stored: (name) => name.toUpperCase() }],
  ['a workbook elsewhere', { folder: 'spreadsheet/' }],
  ['strict namespaces', { strict: true }],
])('a workbook with %s is read', async (_, some) => {
  expect(await read(workbookAs(table, { ...usual, ...some }))).toMatchObject(TOLD);
});

test('a workbook without relationships of the package is looked for under its usual name', async () => {
  const sheet = `<worksheet><sheetData>${rowsOf(table)}</sheetData></worksheet>`;
  const file = zipOf({
    'xl/workbook.xml': '<workbook xmlns:r="r"><sheets><sheet name="S" r:id="s"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="s" Type="http://x/worksheet" Target="s.xml"/></Relationships>',
    'xl/s.xml': sheet,
  });
  expect(await read(file)).toMatchObject(TOLD);
});

test.each([
  ['a text document', 'word/document.xml', '<w:document xmlns:w="w"><w:body/></w:document>'],
  ['a binary workbook', 'xl/workbook.bin', '\x83\x01\0'],
])('%s is no workbook', async (_, name, content) => {
  const root = `<Relationships><Relationship Id="a" Type="http://x/officeDocument" Target="${name}"/></Relationships>`;
  await expect(read(zipOf({ '_rels/.rels': root, [name]: content }))).rejects.toMatchObject({
    code: 'NOT_A_TABLE',
  });
});
