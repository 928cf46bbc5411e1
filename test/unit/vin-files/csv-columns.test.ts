import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CsvLimits } from '../../../src/vin-files/csv/limits.ts';
import { openVinCsv } from '../../../src/vin-files/table.ts';

const LIMITS: CsvLimits = { bytes: 1_000_000, rowLength: 10_000, columns: 100, fieldLength: 5_000, rows: 100_000 };
const vinOf = (n: number) => `WVWZZZ1KZAW${String(n).padStart(6, '0')}`;
const [A, B] = [vinOf(1), vinOf(2)];

async function read(content: string) {
  const { rows, ...layout } = await openVinCsv(Readable.from([Buffer.from(content)]), LIMITS);
  const values: string[] = [];
  for await (const batch of rows) values.push(...batch.map(({ value }) => value));
  return { ...layout, values };
}
const refusal = (content: string): Promise<unknown> => read(content).then(JSON.stringify, (error: unknown) => error);
const missing = (message: string) => ({
  code: 'VIN_COLUMN_MISSING',
  message: expect.stringContaining(message),
});

describe('a column of VINs without a known name', () => {
  test.each([
    ['Asset Tag,Serial,Model', [`A1,${A},X`, `A2,${B},X`]],
    ['Matricule;Plate', [`${A};x`, `${B};y`]],
    ['Fahrzeug', [A, B]],
    ['车架号\t型号', [`${A}\tx`, `${B}\ty`]],
    ['a|b|Identification', [`1|2|${A}`, `||${B}`]],
  ])('is the one whose cells are VINs: %s', async (header, rows) => {
    const delimiter = /[,;\t|]/.exec(header)?.[0] ?? ',';
    const columns = header.split(delimiter);
    const at = rows[0]?.split(delimiter).indexOf(A) ?? 0;
    for (const above of ['', 'Fleet of Berlin\n\n', 'Fleet, as of today;x\n', 'Our VINs\n'])
      expect(await read(`${above}${header}\n${rows.join('\n')}\n`)).toMatchObject({
        ...{ columns, column: columns[at], delimiter },
        values: [A, B],
      });
  });

  test('has VINs in four of five of the first 50 rows that hold anything, as no other column has', async () => {
    const count = fc.integer({ min: 1, max: 70 });
    const place = fc.nat(2);
    const bad = fc.constantFrom('', 'n/a', 'SHORT', '4711', '1.0E+16');
    await fc.assert(
      fc.asyncProperty(count, place, bad, fc.nat(100), fc.boolean(), async (rows, at, wrong, share, twice) => {
        // The first row has a VIN, so that it is no second header.
        const isGood = (n: number) => n === 0 || (n * 37) % 100 >= share;
        const cells = (n: number) => {
          const good = isGood(n) ? vinOf(n) : wrong;
          return ['x', 'y', twice ? good : 'z'].toSpliced(at, 0, good);
        };
        const all = Array.from({ length: rows }, (_, n) => cells(n));
        const file = [['a', 'b', 'c'].toSpliced(at, 0, 'Matricule'), ...all.flatMap((row) => [row, []])];
        const text = file.map((row) => row.join(';')).join('\n');
        const sample = Math.min(rows, 50);
        const good = Array.from({ length: sample }, (_, n) => n).filter(isGood).length;
        if (good * 5 < sample * 4)
          expect(await refusal(text)).toMatchObject(missing('No column of the file holds VINs.'));
        else if (twice) expect(await refusal(text)).toMatchObject(missing('Several columns of the file hold VINs: '));
        else expect(await read(text)).toMatchObject({ column: 'Matricule', values: all.map((row) => row[at]) });
      }),
      { numRuns: 200 },
    );
  });

  test('may have rejected rows between its name and its first VIN', async () => {
    const good = Array.from({ length: 10 }, (_, n) => `x;${vinOf(n)}`);
    const { values, column } = await read(['a;Matricule', 'x;SHORT1', 'B-XY 1;unknown', ...good].join('\n'));
    expect([column, values.slice(0, 3)]).toEqual(['Matricule', ['SHORT1', 'unknown', vinOf(0)]]);
  });

  test('is named in the answer as the file names it, at most 100 characters, and not without a header', async () => {
    expect(await read(`${'x'.repeat(200)};y\n${A};1\n`)).toMatchObject({ column: 'x'.repeat(100) });
    expect(await read(` Vin ;y\n${A};1\n`)).toMatchObject({ column: ' Vin ' });
    for (const text of [`${A}\n${B}`, `x;${A}\ny;${B}`]) expect(await read(text)).toMatchObject({ column: null });
  });
});

describe('the only name with the word VIN', () => {
  test.each([
    ...['asset.vin', 'Asset VIN', 'vehicle_vin', 'vehicleVin', 'vehicleVIN', 'VINCode2', 'vin.value', 'Wagen-VIN'],
    ...['VIN of the car', 'ＶＩＮ of it', 'car[vin]', '{vin}', 'data/vin', 'VIN1'],
  ])('is that of the column: %s', async (name) => {
    // The other column holds VINs, too, so that the name alone decides.
    for (const rows of [`${B},${A}\n`, `${B},SHORT\n${B},${A}\n`, `x,4711\n`])
      expect(await read(`Serial,${name}\n${rows}`)).toMatchObject({ columns: ['Serial', name], column: name });
  });

  test.each(['Vincent', 'province', 'Alvin', 'vine', 'Vinyl'])('is not %s', async (name) => {
    expect(await refusal(`Serial,${name}\n${B},${A}\n`)).toMatchObject(missing('Several columns'));
  });

  test('decides nothing beside another one, nor where its cells are no VINs and those of another column are', async () => {
    expect(await refusal(`old.vin,new.vin\n${A},${B}\n`)).toMatchObject(missing('"old.vin", "new.vin"'));
    expect(await read(`old.vin,new.vin,x\nn/a,${B},1\n`)).toMatchObject({ column: 'new.vin', values: [B] });
    expect(await read(`vin_checked,Serial\nyes,${B}\n`)).toMatchObject({ column: 'Serial', values: [B] });
    expect(await read(`asset.vin,VIN\n${A},${B}\n`)).toMatchObject({ column: 'VIN', values: [B] });
  });

  test('may stand in a title', async () => {
    expect(await read(`Our VIN list\nSerial,Model\n${A},x\n`)).toMatchObject({ column: 'Serial', values: [A] });
    expect(await read(`Our VIN list\n\n${A}\n`)).toMatchObject({ values: [A] });
    expect(await refusal('Our VIN list\nModel,Plate\nx,y\n')).toMatchObject(missing('Found: "Model", "Plate"'));
  });
});
