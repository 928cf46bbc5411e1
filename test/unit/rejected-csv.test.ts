import { Readable } from 'node:stream';
import fc from 'fast-check';
import { parse } from 'fast-csv';
import { describe, expect, test } from 'vitest';
import { rejectedCsvHeader, rejectedCsvWriter, reportColumns } from '../../src/core/imports/rejected-csv.ts';
import { writeRows } from '../../src/core/sql/read.ts';
import { type CsvDelimiter, type CsvRow, openVinCsv, readVin, usualLimits } from '../../src/vin-files/index.ts';

const A = 'WVWZZZ1KZAW000001';
const B = 'WVWZZZ1KZAW000002';
const C = 'WVWZZZ1KZAW000003';

interface ReadFile {
  columns: string[] | null;
  delimiter: string;
  rows: CsvRow[];
}

async function read(content: string): Promise<ReadFile> {
  const { columns, delimiter, rows: batches } = await openVinCsv(Readable.from([Buffer.from(content)]), usualLimits);
  const rows: CsvRow[] = [];
  for await (const batch of batches) rows.push(...batch);
  return { columns, delimiter, rows };
}

/** As another reader sees it; what it cannot read has no cells. */
const recordsOf = (text: string, delimiter: string): Promise<string[][]> =>
  Readable.from([text])
    .pipe(parse<string[], string[]>({ delimiter }))
    .toArray()
    .catch(() => []);

/** A rejected row: its cells (null: `value` alone), a code and a message. */
interface RejectedRow {
  value: string;
  cells: readonly string[] | null;
  code: string;
  message: string;
}

function rejected({ columns, delimiter }: Pick<ReadFile, 'columns' | 'delimiter'>, rows: RejectedRow[]): string {
  const stored = rows.map(({ value, cells, code, message }, at) => [
    value,
    cells && JSON.stringify(cells),
    code,
    message,
    String(at),
  ]);
  const layout = { columns: columns ? [...columns] : null, delimiter: delimiter as CsvDelimiter };
  const names = reportColumns(layout, stored[0]);
  const text =
    rejectedCsvHeader(names, delimiter) + writeRows(stored, rejectedCsvWriter(names, delimiter), rows.length).text;
  expect(text.lastIndexOf('\ufeff')).toBe(0);
  return text.slice(1);
}

const refuse = (rows: CsvRow[]): RejectedRow[] =>
  rows.map(({ value, cells }) => ({
    value,
    cells,
    code: 'VIN_INVALID_LENGTH',
    message: 'Too short; sorry, "really".',
  }));

describe('rejected rows', () => {
  test('keep the layout of the file, with code and message at the end', async () => {
    const file = await read(`Plate;VIN;Model\n"B;1";WVW1;"a ""b"""\nx;WVW2\ny;WVW3;z;more\n`);
    expect(rejected(file, refuse(file.rows))).toBe(
      [
        'Plate;VIN;Model;error_code;error_message',
        '"B;1";WVW1;"a ""b""";VIN_INVALID_LENGTH;"Too short; sorry, ""really""."',
        'x;WVW2;;VIN_INVALID_LENGTH;"Too short; sorry, ""really""."',
        'y;WVW3;z;VIN_INVALID_LENGTH;"Too short; sorry, ""really"".";more',
        '',
      ].join('\n'),
    );
  });

  test('a file without a header gets one', async () => {
    const one = await read('WVW1\n');
    expect(rejected(one, refuse(one.rows))).toMatch(/^vin,error_code,error_message\nWVW1,VIN_INVALID_LENGTH,/);
    const two = await read(`WVW1|x\n${A}|y\n`);
    expect(rejected(two, refuse(two.rows))).toMatch(/^vin\|column_2\|error_code\|error_message\nWVW1\|x\|/);
    const later = await read(`1|WVW1|x\n2|${A}|y\n`);
    expect(rejected(later, refuse(later.rows))).toMatch(
      /^column_1\|vin\|column_3\|error_code\|error_message\n1\|WVW1\|x\|/,
    );
    expect((await read(rejected(later, refuse(later.rows)))).rows.map(({ value }) => value)).toEqual(['WVW1', A]);
    expect(rejected(one, [])).toBe('vin,error_code,error_message\n');
  });

  test('cells that spreadsheets would run as formulas are defused, the header too', async () => {
    const cells = ['=1+1', '+49', '-1', '@x', '\tx', ' =1', 'a=b'];
    const file = { columns: ['vin', '=cmd', 'c', 'd', 'e', 'f', 'g', 'h'], delimiter: ',' };
    const text = rejected(file, [{ value: 'WVW1', cells: ['WVW1', ...cells], code: 'X', message: '=Y' }]);
    expect(text).toBe("vin,'=cmd,c,d,e,f,g,h,error_code,error_message\nWVW1,'=1+1,'+49,'-1,'@x,'\tx,' =1,a=b,X,'=Y\n");
  });

  test('a formula behind any separator is defused, in quotes too, and once', async () => {
    const file = { columns: ['vin', 'a'], delimiter: ';' };
    const cells = (a: string) => [{ value: 'WVW1', cells: ['WVW1', a], code: 'X', message: 'Y' }];
    const dde = rejected(file, cells(`x,=cmd|' /C calc'!A0`));
    expect(dde).toContain(`;x,'=cmd|' /C calc'!A0;`);
    expect(rejected(file, cells(`x,'=cmd|' /C calc'!A0`))).toBe(dde);
    expect(rejected(file, cells('1,5 t; -2 | "+3"'))).toContain(`;"1,5 t;' -2 |' ""+3""";`);
    expect(rejected(file, cells('Golf-Plus a+b=c @ home, 5 - 3'))).toContain(';Golf-Plus a+b=c @ home, 5 - 3;');
  });

  test('no reader sees a formula, with any separator, with or without quotes', async () => {
    const crumb = fc.constantFrom(
      '=',
      '+',
      '-',
      '@',
      '＝',
      ',',
      ';',
      '\t',
      '|',
      '\n',
      '"',
      "'",
      ' ',
      '\u00a0',
      'x',
      '1',
    );
    const cell = fc.array(crumb, { maxLength: 10 }).map((parts) => parts.join(''));
    const delimiter = fc.constantFrom(',', ';', '\t', '|');
    await fc.assert(
      fc.asyncProperty(fc.array(cell, { minLength: 1, maxLength: 4 }), cell, delimiter, async (cells, name, by) => {
        const columns = ['vin', name, 'b', 'c'];
        const text = rejected({ columns, delimiter: by }, [{ value: '', cells, code: 'X', message: `=1;${name}` }]);
        for (const separator of [',', ';', '\t', '|']) {
          const bare = text.split('\n').flatMap((line) => line.split(separator));
          const quoted = await recordsOf(text, separator);
          for (const seen of [...bare, ...quoted.flat()]) expect(seen).not.toMatch(/^[\s"]*[=+\-@＝＋－＠]/);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([',', ', ', '\n', ' ', '"', ',"', '\u00a0'])(
    'a cell of nothing but %j is defused in one pass',
    async (part) => {
      const row = { value: part.repeat(400_000), cells: null, code: 'X', message: 'Y' };
      expect(rejected({ columns: ['vin'], delimiter: ';' }, [row]).length).toBeGreaterThan(400_000);
    },
  );

  test('can be uploaded again as the same rows, without adding columns a second time', async () => {
    const first = await read(`VIN,phone\n-${A},=1\n@${B},"+49 1, 2"\n`);
    const text = rejected(first, refuse(first.rows));
    const second = await read(text);
    expect(second.columns).toEqual(['VIN', 'phone', 'error_code', 'error_message']);
    expect(second.rows.map(({ value }) => readVin(value))).toEqual(first.rows.map(({ value }) => readVin(value)));
    expect(rejected(second, refuse(second.rows))).toBe(text);
  });

  test('for any cells and layout, the VINs and the other cells survive', async () => {
    const cell = fc
      .array(fc.constantFrom('"', ',', ';', '\t', '|', '\n', ' ', '=', '-', '@', "'", 'x', 'ä'), { maxLength: 6 })
      .map((parts) => parts.join(''));
    const vin = fc.constantFrom(A, `-${B}`, `=${C}`, 'short', `'${A}`);
    const delimiter = fc.constantFrom(',', ';', '\t', '|');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cell, vin), { minLength: 1 }), delimiter, async (records, by) => {
        const rows = records.map(([other, value]) => ({ value, cells: [other, value], code: 'X', message: 'Y' }));
        const again = await read(rejected({ columns: ['other', 'chassis'], delimiter: by }, rows));
        expect(again.rows.map(({ value }) => value)).toEqual(records.map(([, value]) => value.replace(/^'/, '')));
        const others = again.rows.map(({ cells }) => cells?.[0]?.replaceAll("'", '').trim());
        const expected = records.map(([other]) => other.replaceAll("'", '').trim());
        expect(others).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});
