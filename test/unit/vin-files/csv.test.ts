import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mayBeTableFile } from '../../../src/vin-files/csv/head.ts';
import type { CsvLimits } from '../../../src/vin-files/csv/limits.ts';
import { FileRejection } from '../../../src/vin-files/index.ts';
import { type CsvRow, openVinCsv, parseCsvRows, readPlainCsvBlock } from '../../../src/vin-files/table.ts';
import { readVin } from '../../../src/vin-files/vin.ts';
import { takeTurns } from '../../support/deadlines.ts';

const A = 'WVWZZZ1KZAW000001';
const B = 'WVWZZZ1KZAW000002';
const C = 'WVWZZZ1KZAW000003';
const LIMITS: CsvLimits = { bytes: 1_000_000, rowLength: 10_000, columns: 100, fieldLength: 5_000, rows: 100_000 };

interface ReadFile {
  columns: string[] | null;
  delimiter: string;
  rows: CsvRow[];
}

async function readChunks(chunks: Iterable<Buffer>, limits: Partial<CsvLimits> = {}): Promise<ReadFile> {
  const table = await openVinCsv(Readable.from(chunks), { ...LIMITS, ...limits });
  const rows: CsvRow[] = [];
  for await (const batch of table.rows) rows.push(...batch);
  return { columns: table.columns, delimiter: table.delimiter, rows };
}

const read = (content: string | Buffer, limits?: Partial<CsvLimits>) => readChunks([Buffer.from(content)], limits);
const values = async (content: string | Buffer) => (await read(content)).rows.map(({ value }) => value);
const refusal = (content: string | Buffer, limits?: Partial<CsvLimits>): Promise<unknown> =>
  read(content, limits).then(
    () => null,
    (error: unknown) => error,
  );

const bigEndian = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16();
const littleEndian = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('shapes of a file', () => {
  test.each([
    ['one column with a header', `vin\n${A}\n${B}\n`],
    ['no line break at the end', `vin\n${A}\n${B}`],
    ['no header', `${A}\n${B}\n`],
    ['CRLF', `vin\r\n${A}\r\n${B}\r\n`],
    ['lone returns', `vin\r${A}\r${B}\r`],
    ['quoted', `"vin"\n"${A}"\n"${B}"\n`],
    ['some quoted', `vin\n"${A}"\n${B}\n`],
    ['a byte order mark', `\ufeffvin\n${A}\n${B}\n`],
    ['a byte order mark and quotes', `\ufeff"vin";"plate"\n"${A}";x\n${B};y\n`],
    ['UTF-16, little end first', littleEndian(`vin\tplate\r\n${A}\tä\r\n${B}\tö\r\n`)],
    ['UTF-16, big end first', bigEndian(`vin\tplate\r\n${A}\tä\r\n${B}\tö\r\n`)],
    ['commas', `plate,vin\nx,${A}\ny,${B}\n`],
    ['semicolons', `plate;vin\n"Golf, blue";${A}\ny;${B}\n`],
    ['tabs', `plate\tvin\nx\t${A}\n\t${B}\n`],
    ['bars', `plate|vin\nx|${A}\ny|${B}\n`],
    ['no header and two columns', `${A};Golf, blue\n${B};Polo\n`],
    ['blank lines', `\n\n  \nvin\n\n${A}\n   \n${B}\n\n`],
    ['lines of delimiters alone', `;;\nvin;b;c\n;;\n${A};x;y\n ; ;\n"";"";""\n${B};;\n`],
    ["Excel's separator line", `sep=;\r\nvin;plate\r\n${A};x\r\n${B};y\r\n`],
    ["Excel's separator line, no header", `"sep=|"\n${A}|x, y, z\n${B}|\n`],
    ['the VIN as a formula of text', `vin,plate\n="${A}",x\n"=""${B}""",y\n`],
    ['the VIN with an apostrophe', `vin\n'${A}\n'${B}\n`],
    ['rows shorter and longer than the header', `vin,plate,model\n${A}\n${B},x,y,z\n`],
    ['two files joined, each with its byte order mark', `\ufeffvin\n${A}\n\ufeff${B}\n`],
  ])('%s', async (_, content) => {
    expect(await values(content)).toEqual([A, B]);
  });

  test.each([
    'VIN',
    ' Vin ',
    'vin_number',
    'VIN-Number',
    'Vehicle Identification Number',
    'vehicleIdentificationNumber',
    'FIN',
    'Chassis Number',
    'chassis',
    'vehicle id number',
  ])('the column may be called "%s"', async (name) => {
    expect(await values(`plate,${name},model\nx,${A},y\n`)).toEqual([A]);
  });

  const others = [
    ['NIV', 'niv.', 'N° NIV', 'Numéro de série', 'NUMERO DE SERIE', 'N° de série', 'Nº de série du véhicule'],
    ['Número de Identificación Vehicular', 'Châssis n°', 'VIN N°', '№ VIN'],
    ['VIN (17)', 'VIN 17', 'FIN (17-stellig)', 'VIN (17 caractères)', 'NIV [17 car.]', 'VIN\u00a0(17)', '*VIN*'],
    ['VIN / FIN', 'Vin/Chassis No.', 'VIN / Bemerkung', 'vin - old', 'VIN (required)', 'Fahrgestellnummer (FIN)'],
    ['"VIN\n(17)"', 'Numéro de série (VIN)', 'E (VIN)', 'Chassis – full number', 'VIN / NIV / FIN', 'VIN & plate'],
  ].flat();
  test.each(others)('the column may be called "%s", alone and among others', async (name) => {
    for (const [before, after] of [
      ['', ''],
      ['plate;', ''],
      ['', ';model'],
      ['plate;', ';model (2026)'],
    ]) {
      const row = (cell: string) => `${before && 'x;'}${cell}${after && ';y'}\n`;
      expect(await values(`${before}${name}${after}\n${row(A)}${row('WVW1')}`)).toEqual([A, 'WVW1']);
    }
  });

  test.each(['Plate', 'VIN status', 'Vinyl', 'Finance', 'Niveau', 'Invoice no.', '17', '(17)', 'series', 'Fin. year'])(
    'a column called "%s" is not taken for that of the VINs',
    async (name) => {
      const error = await refusal(`${name};model\nx;Golf\n`);
      expect(error).toMatchObject({ code: 'VIN_COLUMN_MISSING' });
    },
  );

  test.each([
    ['Numéro de série', 'N° de châssis'],
    ['NIV', 'Fahrgestellnummer'],
    ['Chassis', 'VIN (17)'],
    ['Chassis', 'VIN / Chassis'],
    ['VIN (old)', 'VIN'],
    ['VIN / remark', 'Chassis no.'],
    ['Plate / VIN', 'FIN'],
    ['Status (VIN)', 'VIN (17)'],
    ['Keys (VIN)', 'VIN / remark'],
    ['Numéro de série', 'VIN / plaque'],
  ])('"%s" beside "%s": the second is the better name, on either side', async (worse, better) => {
    expect(await values(`x;${worse};${better}\n1;4711;${A}\n`)).toEqual([A]);
    expect(await values(`${better};${worse};x\n${A};4711;1\n`)).toEqual([A]);
  });

  test('of two columns with one name, the one with VINs counts', async () => {
    expect(await values(`VIN;plate;VIN\n;x;${A}\n;y;${B}\n`)).toEqual([A, B]);
    expect(await values(`VIN;plate;VIN\n${A};x;\n${B};y;\n`)).toEqual([A, B]);
    expect(await values(`VIN;plate;VIN\n;x;\n;y;${A}\n`)).toEqual(['', A]);
    expect(await values(`VIN;plate;VIN\n${A};x;${B}\n`)).toEqual([A]);
    expect(await values(`VIN;plate;VIN\nWVW1;x;\n`)).toEqual(['WVW1']);
    expect(await values(`VIN;engine;VIN\nWVW1;${B};\n${A};${B};\n`)).toEqual(['WVW1', A]);
  });

  test('comments above a list without a header are no rows', async () => {
    const { rows } = await read(`# exported on 23.11.2026\n#by FleetManager; 3.2\n\n${A}\n# end\n`);
    expect(rows.map(({ row, value }) => [row, value])).toEqual([
      [4, A],
      [5, '# end'],
    ]);
    expect(await values(`# plates;and VINs\nx;${A}\n`)).toEqual([A]);
    expect(await values(`#1;${A}\n#2;${B}\n`)).toEqual([A, B]);
    expect(await values(`#;VIN\n#1;${A}\n`)).toEqual([A]);
    expect(await values(`#VIN\n${A}\n`)).toEqual([A]);
    expect(await refusal('# x\n'.repeat(100))).toMatchObject({ code: 'NO_ROWS' });
  });

  test.each([',', ';', '\t', '|'])(
    'VINs in one row, separated by "%s", are not taken for one vehicle',
    async (between) => {
      for (const file of [
        [A, B, C].join(between),
        `${A}${between}${B}\n${C}\n`,
        `# fleet\n${A}${between} ${B}${between}\n`,
      ])
        expect(await refusal(file)).toMatchObject({
          code: 'VIN_COLUMN_MISSING',
          message: expect.stringMatching(
            /^Row [12] holds [23] VINs and nothing else\. Put each VIN into a row of its own, or name the column that counts: vin\.$/,
          ),
        });
      expect(await values(`${A}${between}x${between}${B}`)).toEqual([A]);
      expect(await refusal(`Old${between}New\n${A}${between}${B}\n`)).toMatchObject({
        message: expect.stringMatching(/^Several columns of the file hold VINs: "Old", "New"\. Name the column vin,/),
      });
      expect(await values(`VIN${between}before\n${A}${between}${B}`)).toEqual([A]);
    },
  );

  test('VINs beside the name of their column are no rows', async () => {
    for (const file of [`VIN;${A};${B}\nplate;x;y\n`, `Model;Golf\nChassis number;${A}\nOwner;x\n`])
      expect(await refusal(file)).toMatchObject({
        code: 'VIN_COLUMN_MISSING',
        message: expect.stringMatching(/^Row [12] holds the name of a column and VINs beside it\. Put the VINs below /),
      });
  });

  test('of several fitting columns, vin has precedence over chassis', async () => {
    expect(await values(`chassis,VIN\n4711,${A}\n`)).toEqual([A]);
  });

  test('columns, delimiter, row numbers and all cells are returned', async () => {
    expect(await read(`\nPlate; VIN\n\nx;${A}\n"two\nlines";${B}\nz;${C}`)).toEqual({
      columns: ['Plate', ' VIN'],
      delimiter: ';',
      rows: [
        { row: 4, value: A, cells: ['x', A] },
        { row: 5, value: B, cells: ['two\nlines', B] },
        { row: 6, value: C, cells: ['z', C] },
      ],
    });
  });

  test('the header is row 1, also below a separator line', async () => {
    expect((await read(`vin\n${A}`)).rows).toEqual([{ row: 2, value: A, cells: null }]);
    expect((await read(`sep=,\nvin\n${A}`)).rows).toEqual([{ row: 2, value: A, cells: null }]);
    expect(await read(A)).toEqual({ columns: null, delimiter: ',', rows: [{ row: 1, value: A, cells: null }] });
  });

  test.each(['BADVIN1', 'WVWZZZ1KZAW00000O', '1.0E+16', '1,23E+16', '12', '#N/A', '#REF!', '=B2', '=TRIM(X)'])(
    'without a header, a first row "%s" is a bad row, not a header',
    async (bad) => {
      expect(await values(`${bad}\n${A}\n`)).toEqual([bad, A]);
    },
  );

  test('a number with a decimal comma is one cell, though a comma separates cells', async () => {
    const { rows } = await read(`vin,plate\n1,23E+16,x\n${A},y\n`);
    expect(rows[0]).toEqual({ row: 2, value: '1,23E+16', cells: ['1,23E+16', 'x'] });
    expect(readVin('1,23E+16')).toMatchObject({ code: 'VIN_SPREADSHEET_DAMAGE' });
  });

  test('a row without a VIN among its cells is kept, to be refused by name', async () => {
    expect((await read(`plate,vin\nx\ny,${A}\n`)).rows[0]).toEqual({ row: 2, value: '', cells: ['x'] });
  });
});

describe('where the header is, and the column of the VINs', () => {
  test.each([
    ['a title', `Fleet 2026\nvin;plate\n${A};x\n`],
    ['a title in a table', `Fleet 2026;;\n;;\nplate;VIN;model\nx;${A};y\n`],
    ['a title that may be read as a VIN', `Fleet Augsburg 2026\n\nplate|fin\nx|${A}\n`],
    ['titles with other separators', `Fleet | all, as of 21.11.2026\n"Berlin; Hamburg"\nplate;vin\nx;${A}\n`],
    ['numbers and words', `1;2;3\n4711\nPlate;Chassis Number\nx;${A}\n`],
    ['a title that names VINs', `List of vehicles (VIN)\n\nplate;VIN\nx;${A}\n`],
    ['a title that names VINs, the header too', `VIN / all vehicles;\nplate;VIN (17)\nx;${A}\n`],
    ['nineteen lines', `${'x;1\n'.repeat(19)}vin\n${A}\n`],
    ['a separator line and a title', `sep=|\nFleet; 2026\nplate|vin\nx|${A}\n`],
  ])('above the header: %s', async (_, content) => {
    const { columns, rows } = await read(content);
    expect({ columns: columns?.length, values: rows.map(({ value }) => value) }).toEqual({
      columns: rows[0]?.cells?.length ?? columns?.length,
      values: [A],
    });
  });

  test('rows are numbered from the top of the file, titles and blank lines too', async () => {
    expect((await read(`Fleet 2026\n\nplate,vin\nx,${A}`)).rows).toEqual([{ row: 4, value: A, cells: ['x', A] }]);
  });

  const word = fc.constantFrom('Fleet', '2026', 'Berlin', 'B-XY 1', 'km', '12.500', '', ' ', 'Zürich', 'x', '4711');
  const delimiter = fc.constantFrom(',', ';', '\t', '|');

  test('text above the header does not change the rows', async () => {
    const titles = fc.array(fc.tuple(fc.array(word, { maxLength: 6 }), delimiter), { maxLength: 19 });
    await fc.assert(
      fc.asyncProperty(titles, fc.nat(3), delimiter, async (above, at, by) => {
        const table = (cell: string) => ['a', 'b', 'c'].toSpliced(at, 0, cell).join(by);
        const file = `${table('VIN')}\n${table(A)}\n${table('WVW1')}\n`;
        const lines = above.map(([words, between]) => `${words.join(between)}\n`);
        const [plain, titled] = [await read(file), await read(lines.join('') + file)];
        const moved = plain.rows.map((one) => ({ ...one, row: one.row + lines.length }));
        expect(titled).toEqual({ ...plain, rows: moved });
      }),
      { numRuns: 500 },
    );
  });

  test('without a header, the first VIN determines the column; bad VINs above are bad rows', async () => {
    const others = fc.array(fc.constantFrom('x', '4711', 'B-XY 1', '', 'Golf 8', '21.11.2026', 'a@b.example'), {
      minLength: 3,
      maxLength: 3,
    });
    const bad = fc.constantFrom('WVW1', '', '12', 'WVWZZZ1KZAW00000O', '1.0E+16');
    const records = fc.array(fc.tuple(others, bad), { maxLength: 19 });
    await fc.assert(
      fc.asyncProperty(records, records, fc.nat(3), fc.constantFrom(';', '\t', '|'), async (before, after, at, by) => {
        const rows: [cells: string[], vin: string][] = [...before, [['x', 'y', 'z'], A], ...after];
        const file = rows.map(([cells, vin]) => cells.toSpliced(at, 0, vin).join(by)).join('\n');
        const expected = rows
          .filter(([cells, vin]) => [...cells, vin].some((cell) => cell !== ''))
          .map(([, vin]) => vin);
        expect(await values(file)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['no name that is known', `Nr;Fahrgestell;Modell\n1;${A};Golf\n2;WVW1;Polo\n`, ['Nr', 'Fahrgestell', 'Modell']],
    ['a title, and no name that is known', `Fleet 2026\nNr;Fahrgestell\n1;${A}\n2;WVW1\n`, ['Nr', 'Fahrgestell']],
    ['no header, and no VIN', '1;Golf;Berlin\n2;Polo;Hamburg\n', ['1', 'Golf', 'Berlin']],
    ['a title, and no VIN', 'Fleet 2026\n1;Golf\n2;Polo\n', ['1', 'Golf']],
    [
      'a title with a name, and a header without one',
      `Fleet (VIN);\nNr;Fahrgestell\n1;${A}\n2;WVW1\n`,
      ['Nr', 'Fahrgestell'],
    ],
    ['a header too far below', `${'x;1\n'.repeat(20)}vin;a\n${A};x\n`, ['x', '1']],
  ])('%s: one refusal, which says what was found', async (_, content, found) => {
    expect(await refusal(content)).toMatchObject({ code: 'VIN_COLUMN_MISSING', details: { found } });
  });

  test('a list of wrong VINs only is refused row by row', async () => {
    for (const bad of ['1.0E+16', '1,23E+16', 'WVW1', 'WVWZZZ1KZAW00000O', 'WVWZZZ1KZAW0001']) {
      expect(await values(`${bad}\n${bad}\n`)).toEqual([bad, bad]);
    }
    expect(await values('x;WVWZZZ1KZAW00000O\ny;WVW1\n')).toEqual(['WVWZZZ1KZAW00000O', 'WVW1']);
  });

  test('only the first rows are buffered while the header is searched', async () => {
    let pulled = 0;
    function* endless() {
      for (;;) {
        pulled++;
        yield Buffer.from('"";""\n'.repeat(10_000) + (pulled === 20 ? 'Fleet\n' : ''));
      }
    }
    await expect(readChunks(endless(), { bytes: 1e9 })).rejects.toMatchObject({
      code: 'VIN_COLUMN_MISSING',
    });
    expect(pulled).toBeLessThan(25);
  });
});

describe('the encoding of a file', () => {
  // Written by Python's csv.writer (dialect excel, delimiter ;) and codecs.
  const fixture = (encoding: string) => readFile(new URL(`../../fixtures/${encoding}.csv`, import.meta.url));

  test.each(['windows-1252', 'utf-8-bom', 'utf-16-le', 'utf-16-be'])('%s is the same table as UTF-8', async (name) => {
    const table = await read(await fixture(name));
    expect(table).toEqual(await read(await fixture('utf-8')));
    expect(table.rows.map(({ cells }) => cells?.[0])).toEqual(['Müller & Söhne', 'Crédit "Évreux"', 'Plain']);
  });

  test.each(['\x1a', '\x1a'.repeat(128)])('Ctrl-Z at the end of a file, as of DOS, is no row', async (end) => {
    for (const content of [`vin\n${A}`, `${A}\r\n`, `vin;x\n${A};ü\n`, `vin;x\n${A};"y"`]) {
      const plain = await read(content);
      for (const bytes of [Buffer.from(content + end), Buffer.from(content + end, 'latin1'), bigEndian(content + end)])
        expect(await read(bytes)).toEqual(plain);
    }
    expect(await values(`${A}\n${end}\n${B}`)).toEqual([A, end, B]);
    expect(await refusal(`vin\n${end}`)).toMatchObject({ code: 'NO_ROWS' });
  });

  /** The file as decoded by the engine's own decoders. */
  function whole(bytes: Buffer): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      return new TextDecoder('windows-1252').decode(bytes);
    }
  }
  const other = async (bytes: Buffer) => (await read(bytes)).rows.map(({ cells }) => cells?.[1] ?? '').join('\n');

  test('valid UTF-8 is read as UTF-8, any other text as Windows-1252', async () => {
    const undefinedThere = [0x81, 0x8d, 0x8f, 0x90, 0x9d];
    const high = fc.integer({ min: 0x80, max: 0xff }).filter((byte) => !undefinedThere.includes(byte));
    const piece = fc.oneof(
      fc.constantFrom('x', 'ä', '€', '😀', 'É\u00a0').map((text) => Buffer.from(text)),
      high.map((byte) => Buffer.of(byte)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (pieces) => {
        // Valid UTF-8 may contain these bytes; Windows-1252 refuses them.
        fc.pre(isUtf8(Buffer.concat(pieces)) || !Buffer.concat(pieces).some((byte) => undefinedThere.includes(byte)));
        const bytes = Buffer.concat(pieces);
        expect(await other(Buffer.concat([Buffer.from(`vin|x\n${A}|-`), bytes, Buffer.from('-')]))).toBe(
          `-${whole(bytes)}-`,
        );
      }),
      { numRuns: 500 },
    );
  });

  test('a first umlaut behind a million rows, also as the very last byte', async () => {
    function* chunks(end: Buffer) {
      yield Buffer.from('vin|x\n');
      for (let made = 0; made < 1_000; made++) yield Buffer.from(`${A}\n`.repeat(1_000));
      yield end;
    }
    for (const end of [Buffer.from(`${B}|Müller`), Buffer.from(`${B}|Müller\n${C}|ä`, 'latin1')]) {
      const table = await openVinCsv(Readable.from(chunks(end)), { ...LIMITS, bytes: 1e9, rows: 1e9 });
      const last: CsvRow[] = [];
      for await (const batch of table.rows) last.push(...batch.filter(({ value }) => value !== A));
      expect(last.map(({ cells }) => cells?.[1])).toEqual(end.includes(0xe4) ? ['Müller', 'ä'] : ['Müller']);
    }
  });

  test('the end of a chunk of 64 KiB tears no character', async () => {
    for (const text of ['ü', '€', '😀']) {
      for (let before = 65_520; before < 65_540; before++) {
        const head = `vin|x\n${`${A}|\n`.repeat(3_000)}`;
        const line = `${A}|${'x'.repeat(before - (head.length % 65_536))}`;
        const bytes = (tail: Buffer) => Buffer.concat([Buffer.from(head + line), tail]);
        const cells = async (tail: Buffer) =>
          (await readChunks([bytes(tail)], { rowLength: 1e6, fieldLength: 1e6 })).rows.at(-1)?.cells?.[1]?.slice(-8);
        expect(await cells(Buffer.from(text))).toBe(`${line}${text}`.slice(-8));
        expect(await cells(Buffer.from('xü', 'latin1'))).toBe(`${line}xü`.slice(-8));
      }
    }
  });

  test('a torn character does not change the encoding of a long UTF-8 file', async () => {
    const part = `${A}|Müller\n`.repeat(9_000);
    // One of these lengths puts a character across each end of a chunk.
    for (const name of ['', 'x', 'xx']) {
      const torn = Buffer.concat([Buffer.from(`vin|${name}\n${part}`), Buffer.of(0xc3), Buffer.from(`\n${part}`)]);
      const right = (await read(torn)).rows.filter(({ cells }) => cells?.[1] === 'Müller').length;
      expect(right).toBeGreaterThan(18_000 - 65_536 / 25);
    }
  });
});

describe('unreadable files', () => {
  test.each(['', '\n \n;;\n', '\ufeff', 'vin\n', 'vin;plate\n;\n'])('%j holds no rows', async (content) => {
    const error = await refusal(content);
    expect(error).toBeInstanceOf(FileRejection);
    expect(error).toMatchObject({ message: expect.stringContaining('holds no rows'), code: 'NO_ROWS' });
  });

  test('a header without a VIN column: what was found and what is accepted', async () => {
    const error = await refusal(`Numberplate;plate\n${A};x\nWVW1;x\n`);
    expect(error).toBeInstanceOf(FileRejection);
    expect(error).toMatchObject({
      message: expect.stringMatching(/Found: "Numberplate", "plate"\..*vin_number.*chassis/),
      details: { found: ['Numberplate', 'plate'] },
    });
  });

  test.each([
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1'), 'PNG'],
    ['JPEG', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'JPEG'],
    ['PDF', Buffer.from('%PDF-1.7\n'), 'PDF'],
    ['XLS', Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1', 'latin1'), 'as .xlsx'],
    ['gzip', gzipSync(`vin\n${A}\n`), 'Unpack'],
    ['Zstandard', zstdCompressSync(`vin\n${A}\n`), 'Unpack'],
    ['NUL bytes', Buffer.from(`vin\n${A}\0\n`), 'NUL'],
    ['UTF-16 without its mark', Buffer.from(`vin\n${A}\n`, 'utf16le'), 'byte order mark'],
    [
      'UTF-16 without its mark, as databases export it',
      Buffer.from(`vin\n${A}\n`, 'utf16le'),
      'save it as "CSV UTF-8"',
    ],
    ['UTF-16 cut within a character', littleEndian(`vin\n${A}\n`).subarray(0, -1), 'UTF-16'],
    ['UTF-8 by its mark, and wrong', Buffer.concat([Buffer.from(`\ufeff${A},ü`), Buffer.of(0xff)]), 'UTF-8'],
    ['bytes that Windows-1252 has no character for', Buffer.from(`${A},\x81\xff`, 'latin1'), 'CSV UTF-8'],
    ['HTML', Buffer.from(`\n<html><table><tr><td>${A}`), 'HTML'],
    [
      'HTML called .xls',
      Buffer.from(`<html><table><tr><td>${A}`),
      'Open it in a spreadsheet program, save it as .xlsx',
    ],
    ['JSON', Buffer.from(`["${A}"]`), 'JSON'],
  ])('%s is no CSV text, whatever its name', async (_, content, hint) => {
    const error = await refusal(content);
    expect(error).toMatchObject({ code: 'NOT_A_TABLE' });
    expect(error).toMatchObject({ message: expect.stringContaining(hint) });
  });

  test('binary data is noticed far into the file, too', async () => {
    const rows = Buffer.from(`${A}\n`.repeat(20_000));
    expect(await refusal(Buffer.concat([rows, Buffer.of(0xff, 0x01)]))).toMatchObject({ code: 'NOT_A_TABLE' });
  });

  test('binary data under no known name does not pass for Windows-1252', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 300, maxLength: 300 }), async (bytes) => {
        expect(await refusal(Buffer.concat([Buffer.from(`vin\n${A}\n`), bytes]))).toMatchObject({
          code: 'NOT_A_TABLE',
        });
      }),
    );
  });

  test('too many bytes or rows: too large, with the number', async () => {
    const content = `vin\n${`${A}\n`.repeat(1_000)}`;
    for (const [limits, number] of [
      [{ bytes: content.length - 1 }, '18,003'],
      [{ rows: 999 }, '999'],
    ] as const) {
      const error = await refusal(content, limits);
      expect(error).toMatchObject({ code: 'FILE_TOO_LARGE' });
      expect(error).toMatchObject({ message: expect.stringContaining(number) });
    }
    expect(await refusal(content, { bytes: content.length, rows: 1_000 })).toBeNull();
  });

  test.each([
    ['a long row', `vin,a\n${A},x\n${B},${'x '.repeat(5_000)}\n`, 3, 'ROW_TOO_LONG', '10,000'],
    ['a long row of one column', `vin\n${A}\n\n${'x'.repeat(10_001)}\n`, 4, 'ROW_TOO_LONG', '10,000'],
    ['a long header', `${'x'.repeat(10_001)}`, 1, 'ROW_TOO_LONG', '10,000'],
    ['many columns', `vin,a\n${A}${','.repeat(100)}\n`, 2, 'TOO_MANY_COLUMNS', '100'],
    ['many columns of nothing', `vin,a\n${','.repeat(100)}\n`, 2, 'TOO_MANY_COLUMNS', '100'],
    ['many columns in the header', `vin${',a'.repeat(100)}\n`, 1, 'TOO_MANY_COLUMNS', '100'],
    ['a long cell', `vin,a\n${A},${'x'.repeat(5_001)}\n`, 2, 'FIELD_TOO_LONG', '5,000'],
    ['a long cell of one column', `vin\n${'1'.repeat(5_001)}\n`, 2, 'FIELD_TOO_LONG', '5,000'],
    ['a quote never closed', `vin,a\n${A},"x\n${B},y\n`, 2, 'QUOTE_NOT_CLOSED', 'never closed'],
    ['a quote never closed, in the header', `"vin\n${A}\n`, 1, 'QUOTE_NOT_CLOSED', 'never closed'],
    ['text behind a closing quote', `vin,a\n${A},x\n"${B}"x,y\n`, 3, 'QUOTE_MISPLACED', 'written twice'],
    ['text behind a closing quote, in the header', `"vin"x,a\n${A}\n`, 1, 'QUOTE_MISPLACED', 'written twice'],
  ])('%s: the row and the limit are named', async (_, content, row, code, number) => {
    const error = await refusal(content);
    expect(error).toBeInstanceOf(FileRejection);
    expect(error).toMatchObject({
      code,
      message: expect.stringMatching(new RegExp(`Row ${row} .*${number}`)),
      details: { row },
    });
  });

  test('a quote never closed is noticed at once, not at the end of the file', async () => {
    let pulled = 0;
    function* endless() {
      yield Buffer.from('vin,a\n"');
      for (;;) {
        pulled++;
        yield Buffer.from(`${A},x\n`.repeat(1_000));
      }
    }
    await expect(readChunks(endless(), { bytes: 1e9 })).rejects.toBeInstanceOf(FileRejection);
    expect(pulled).toBeLessThan(20);
  });

  test('a lone inch sign is text, and quotes nothing', async () => {
    expect((await read(`vin,wheel\n${A},17" alloy\n${B},18"\n`)).rows.map(({ cells }) => cells?.[1])).toEqual([
      '17" alloy',
      '18"',
    ]);
  });
});

describe('as a stream', () => {
  test('at most a few chunks are read ahead of a slow reader', async () => {
    let pulled = 0;
    function* chunks() {
      for (let made = 0; made < 1_000; made++) {
        pulled++;
        yield Buffer.from(`${A}\n`.repeat(3_600));
      }
    }
    const table = await openVinCsv(Readable.from(chunks(), { highWaterMark: 1 }), { ...LIMITS, bytes: 1e9, rows: 1e9 });
    for await (const batch of table.rows) {
      expect(batch.length).toBeLessThanOrEqual(5_000);
      await takeTurns();
      expect(pulled).toBeLessThan(10);
      break;
    }
  });

  test('batches stay small though rows are tiny', async () => {
    const table = await openVinCsv(Readable.from([Buffer.from('1\n'.repeat(40_000))]), LIMITS);
    const sizes: number[] = [];
    for await (const batch of table.rows) sizes.push(batch.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(40_000);
  });

  test('a reader that stops destroys the input', async () => {
    const input = Readable.from([Buffer.from(`${A}\n`.repeat(5_000)), Buffer.from(`${B}\n`.repeat(50_000))]);
    const table = await openVinCsv(input, LIMITS);
    for await (const _ of table.rows) break;
    expect(input.destroyed).toBe(true);
  });

  test('the rest of a refused file is not read', async () => {
    for (const content of ['%PDF-1.7', 'plate\nx\n', `vin\n"${A}"x\n`]) {
      const input = Readable.from([
        Buffer.from(content),
        ...Array.from({ length: 100 }, () => Buffer.alloc(65_536, 'x')),
      ]);
      const reading = openVinCsv(input, LIMITS).then(async ({ rows }) => {
        for await (const _ of rows);
      });
      await expect(reading).rejects.toThrow();
      expect(input.destroyed).toBe(true);
    }
  });

  test("the input's own error is passed on, early and late", async () => {
    const lost = new Error('connection lost');
    async function* failing(content: string): AsyncGenerator<Buffer> {
      yield Buffer.from(content);
      throw lost;
    }
    for (const content of ['', 'vi', `vin\n${`${A}\n`.repeat(9_000)}`]) {
      await expect(readChunks(failing(content) as unknown as Iterable<Buffer>)).rejects.toBe(lost);
    }
  });

  test('an input destroyed in mid-file is an error, not a shorter file', async () => {
    const input = new Readable({ read() {} });
    input.push(Buffer.from(`vin\n${`${A}\n`.repeat(9_000)}`));
    const table = await openVinCsv(input, LIMITS);
    const reading = (async () => {
      for await (const _ of table.rows) input.destroy();
    })();
    await expect(reading).rejects.toThrow();
  });
});

/** Pieces with every character that has a meaning in CSV, and some of several bytes in UTF-8. */
const crumb = fc.constantFrom(
  '"',
  '""',
  ',',
  ';',
  '\t',
  '|',
  '\n',
  '\r\n',
  '\r',
  ' ',
  'x',
  '1',
  'ä',
  '😀',
  "'",
  '=',
  A,
);
const crumbs = fc.array(crumb, { maxLength: 60 }).map((parts) => parts.join(''));
const outcome = (reading: Promise<ReadFile>): Promise<unknown> =>
  reading.catch((error: Error) => ({ refused: error.constructor.name, message: error.message }));

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}

describe('for any file', () => {
  test('the size of chunks changes nothing', async () => {
    const encode = fc.constantFrom(
      (text: string) => Buffer.from(text),
      (text: string) => Buffer.from(`\ufeff${text}`),
      (text: string) => Buffer.from(text.replaceAll('😀', 'ß'), 'latin1'),
      littleEndian,
      bigEndian,
    );
    const header = fc.constantFrom('', 'vin\r\n', 'a,vin\n', '"a";"vin"\r', 'sep=|\r\nvin|a\n');
    await fc.assert(
      fc.asyncProperty(
        header,
        crumbs,
        encode,
        fc.array(fc.nat(), { maxLength: 20 }),
        async (head, body, bytesOf, places) => {
          const bytes = bytesOf(head + body);
          expect(await outcome(readChunks(cut(bytes, places)))).toEqual(await outcome(readChunks([bytes])));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('large files too, cut anywhere or into single bytes', async () => {
    const line = fc.constantFrom(A, `"${A}"`, `${A},ä😀`, `"${A}","a\r\n""b"""`, '', 'x', ' , ');
    const newline = fc.constantFrom('\n', '\r\n', '\r');
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 50 }),
        newline,
        fc.integer({ min: 1, max: 9 }),
        async (lines, end, size) => {
          const bytes = Buffer.from(
            `vin${end}${`${lines.join(end)}${end}`.repeat(60_000 / lines.join(end).length + 1)}`,
          );
          const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
            bytes.subarray(at * size, (at + 1) * size),
          );
          expect(await outcome(readChunks(chunks))).toEqual(await outcome(readChunks([bytes])));
        },
      ),
      { numRuns: 8 },
    );
  });

  test('lines without quotes and delimiters: the direct way and the parser agree', async () => {
    const character = fc.constantFrom(' ', 'x', '1', 'ä', '😀', "'", '=', ';', '\u00a0', '\u2028', '\v', '', A);
    const lines = fc.array(
      fc.array(character, { maxLength: 30 }).map((parts) => parts.join('')),
      { minLength: 1 },
    );
    const layout = { columns: null, column: null, delimiter: ',' as const };
    const start = { layout, vinAt: 0, doubt: 0 as const, text: '', row: 1 };
    await fc.assert(
      fc.asyncProperty(lines, fc.integer({ min: 10, max: 80 }), async (all, fieldLength) => {
        const text = `${all.join('\n')}\n`;
        const limits = { ...LIMITS, fieldLength };
        const settled = (rows: () => CsvRow[] | Promise<CsvRow[]>) =>
          new Promise((resolve) => resolve(rows())).catch((error: Error) => error.message);
        const direct = await settled(() => readPlainCsvBlock(text, 7, limits).rows);
        expect(direct).toEqual(await settled(() => parseCsvRows(text, 7, start, limits)));
      }),
      { numRuns: 300 },
    );
  });

  test('one column, quoted or not, is the same file', async () => {
    const name = fc.constantFrom('x', '1', A, 'ä', "'", 'x y');
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1 }), async (names) => {
        const plain = await read(`vin\n${names.join('\n')}`);
        const quoted = await read(`vin\n${names.map((one) => `"${one}"`).join('\n')}`);
        expect(quoted).toEqual(plain);
      }),
    );
  });

  test('CSV of any program is read cell by cell', async () => {
    const cell = fc.array(fc.constantFrom('"', ',', ';', '\t', '|', '\n', ' ', 'x', 'ä', '😀'), { maxLength: 8 });
    const record = fc.array(
      cell.map((parts) => parts.join('')),
      { minLength: 2, maxLength: 5 },
    );
    const table = fc.array(record, { minLength: 1, maxLength: 20 });
    const style = fc.record({
      delimiter: fc.constantFrom(',', ';', '\t', '|'),
      newline: fc.constantFrom('\n', '\r\n', '\r'),
      always: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(table, style, async (records, { delimiter, newline, always }) => {
        const write = (text: string) => (always || /[\s",;|]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
        const rows = records.map((cells) => [A, ...cells]);
        const file = [['vin', 'a', 'b'], ...rows].map((cells) => cells.map(write).join(delimiter)).join(newline);
        expect(await read(file)).toEqual({
          columns: ['vin', 'a', 'b'],
          delimiter,
          rows: rows.map((cells, at) => ({ row: at + 2, value: A, cells })),
        });
      }),
      { numRuns: 300 },
    );
  });
});

describe('names of a column of VINs', () => {
  const names = {
    en: ['VIN', 'VIN No.', 'VIN-Number', 'Vehicle Identification Number', 'chassis no', 'Chassis', 'VINs'],
    de: [
      'Fahrgestellnummer',
      'Fahrgestell-Nr.',
      'Fahrzeug-Ident-Nr.',
      'Fahrzeugidentifikationsnummer',
      'FIN',
      'Fgst.-Nr.',
    ],
    fr: [
      'numéro de châssis',
      'N° de châssis',
      'Nº châssis',
      'No. de châssis',
      "Numéro d'identification du véhicule",
      'Code VIN',
    ],
    it: ['Telaio', 'Numero di telaio', 'n. telaio', 'Numero telaio', 'numero di identificazione del veicolo'],
    es: ['Bastidor', 'Número de bastidor', 'Nº de bastidor', 'Nº bastidor', 'número de identificación del vehículo'],
    nl: ['Chassisnummer', 'chassis nr.', 'Voertuigidentificatienummer', 'VIN-nummer'],
    pl: ['Numer VIN', 'Nr VIN', 'Numer nadwozia', 'Nr podwozia', 'Numer identyfikacyjny pojazdu'],
    cs: ['Číslo karoserie', 'č. podvozku', 'VIN kód', 'Identifikační číslo vozidla'],
    da: ['Stelnummer', 'Stel-nr.'],
    no: ['Understellsnummer', 'Rammenummer'],
    sv: ['Chassinummer', 'Chassi nr', 'Fordonsidentifieringsnummer'],
    fi: ['Alustanumero', 'Valmistenumero', 'VIN-koodi', 'Ajoneuvon valmistenumero'],
    pt: ['Nº do Chassi', 'Número do chassi', 'Chassi', 'Número de identificação do veículo', 'N.º de quadro'],
    hu: ['Alvázszám', 'Jármű azonosító szám'],
    ro: ['Serie șasiu', 'Seria șasiului', 'Număr de identificare al vehiculului', 'Nr. șasiu'],
  };
  const written = Object.entries(names).flatMap(([language, some]) => some.map((name) => [language, name] as const));
  test.each(written)('%s: %s', async (_, name) => {
    for (const form of [name, name.toUpperCase(), ` ${name} `, name.normalize('NFD'), `'${name}`]) {
      const { columns, rows } = await read(`Wagenpark 2026\nx;${form};y\n${B};${A};${C}\n`);
      expect([columns, rows.map(({ value }) => value)]).toEqual([['x', form, 'y'], [A]]);
    }
  });

  test.each(['Vehicle ID', 'Numéro', 'Nummer', 'Fahrzeug', 'Identificación', 'Modell', 'No', '北'])(
    'not a name: %s',
    async (name) => {
      expect(await refusal(`x;${name}\n${B};${A}\n`)).toMatchObject({ code: 'VIN_COLUMN_MISSING' });
    },
  );
});

describe('the label of a file part', () => {
  test.each([
    '',
    'text/csv',
    'Text/CSV; charset=utf-16',
    'text/plain',
    'text/tab-separated-values',
    'application/csv',
    'application/vnd.ms-excel',
    'application/x-msexcel',
    'application/msexcel',
    'application/x-excel',
    'application/octet-stream',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'application/vnd.ms-excel.sheet.macroEnabled.12',
    'application/zip',
  ])('"%s" may be a table: its content decides', (label) => {
    expect(mayBeTableFile(label)).toBe(true);
  });

  test.each(['image/png', 'application/pdf', 'application/gzip', 'application/json', 'text/html', 'video/mp4'])(
    '"%s" is refused unread',
    (label) => {
      expect(mayBeTableFile(label)).toBe(false);
    },
  );
});
