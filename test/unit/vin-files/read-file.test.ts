import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = mkdtempSync(join(temporaryFolder('read-file'), 'files-'));

function readFile(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/commands/read-file.ts', ...args], {
    encoding: 'utf8',
  });
  return { status, lines: stdout.split('\n').slice(0, -1), errors: stderr };
}

function fileOf(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test('npm run read-file prints the columns of a file, its VINs and why other rows are rejected, by their numbers', () => {
  const file = fileOf('vins.csv', 'Fleet of 2026\n\nPlate;FIN\nB-1;wvwzzz1kzaw000001\nB-2;WVWZZZ1KZAW00000O\nB-3;\n');
  expect(readFile(file)).toEqual({
    status: 1,
    lines: [
      'columns: "Plate", "FIN"; VINs are in "FIN"',
      'row 4: WVWZZZ1KZAW000001',
      'row 5: rejected: VIN_INVALID_CHARACTER: A VIN holds the digits 0-9 and the letters A-Z without I, O and Q; this one has O at position 17. Did you mean WVWZZZ1KZAW000000?',
      'row 6: rejected: VIN_INVALID_LENGTH: A VIN has 17 characters; this one is empty.',
      '3 rows: 1 VIN, 2 rejected',
    ],
    errors: '',
  });
});

test('of a workbook it names the sheet, of a list without a header no column', () => {
  const { status, lines } = readFile('test/fixtures/exceljs.xlsx');
  expect(status).toBe(1);
  expect(lines[0]).toMatch(
    /^sheet "[^"]+"; columns: "Immatriculé le", "N° de châssis", "Actif", "Note"; VINs are in "N° de châssis"$/,
  );
  expect(lines[1]).toBe('row 4: WBA3A5C50CF256985');
  expect(readFile(fileOf('list.txt', 'WVWZZZ1KZAW000001\n'))).toEqual({
    status: 0,
    lines: ['no header', 'row 1: WVWZZZ1KZAW000001', '1 row: 1 VIN, 0 rejected'],
    errors: '',
  });
});

test('a file that is rejected as a whole is told with its code, and --column names the column', () => {
  const file = fileOf('two.csv', 'a,b\nWVWZZZ1KZAW000001,WVWZZZ1KZAW000002\n');
  const { status, lines, errors } = readFile(file);
  expect({ status, lines }).toEqual({ status: 2, lines: [] });
  expect(errors).toMatch(/^VIN_COLUMN_MISSING: Several columns of the file hold VINs: "a", "b"\./);
  expect(readFile(file, '--column', 'b')).toMatchObject({ status: 0, lines: { 1: 'row 2: WVWZZZ1KZAW000002' } });
  expect(readFile()).toMatchObject({ status: 2, errors: expect.stringContaining('Usage: npm run read-file') });
  expect(readFile(join(folder, 'none.csv'))).toMatchObject({ status: 2, errors: expect.stringContaining('ENOENT') });
});
