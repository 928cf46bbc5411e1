import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readVin, vinOrNull } from '../../../src/vin-files/vin.ts';

const LETTERS_AND_DIGITS = [...'ABCDEFGHJKLMNPRSTUVWXYZ0123456789'];
const anyVin = fc
  .array(fc.constantFrom(...LETTERS_AND_DIGITS), { minLength: 17, maxLength: 17 })
  .map((c) => c.join(''));

const unseen = Array.from({ length: 0xe1000 }, (_, code) => String.fromCodePoint(code)).filter((character) =>
  /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(character),
);

const warningsOf = (value: string) => {
  const read = readVin(value);
  return 'vin' in read ? read.warnings : read;
};

describe('VIN', () => {
  test('a clean VIN is itself', () => {
    expect(readVin('WVWZZZ1KZAW000001')).toEqual({ vin: 'WVWZZZ1KZAW000001', warnings: [] });
  });

  test.each([
    ['lower case', 'wvwzzz1kzaw000001'],
    ['spaces around', '  WVWZZZ1KZAW000001\t'],
    ['spaces and dashes inside', 'WVW ZZZ-1KZ-AW 000001'],
    ['a space that does not break', 'WVW\u00a0ZZZ1KZAW000001'],
    ['dashes of a word processor', 'WVW\u2013ZZZ\u20141KZ\u2212AW000001'],
    ['characters without width', '\u200bWVWZZZ1KZ\u00adAW000001\ufeff'],
    ['a unit separator', '\x1fWVWZZZ1KZAW000001'],
    ['what scanners send around a value', '\x02WVWZZZ1KZ\x1dAW000001\x1e\x04'],
    ['a delete character', 'WVWZZZ1KZAW000001\x7f'],
    ['a control character of Latin-1', '\x85WVWZZZ1KZAW000001\x9c'],
    ['marks of direction', '\u200eWVWZZZ1KZAW000001\u200f'],
    ['embedded and isolated directions', '\u202a\u2066WVWZZZ1KZAW000001\u2069\u202c'],
    ['a mark of Arabic letters, fillers and selectors', '\u061cWVW\u3164ZZZ1KZ\ufe0fAW000001\u034f'],
    ['full width', 'ＷＶＷＺＺＺ１ＫＺＡＷ０００００１'],
    ['full width in lower case, with a wide space and dash', 'ｗｖｗ\u3000ｚｚｚ－１ｋｚａｗ０００００１'],
    ['letters and digits of mathematics, and in circles', '𝐖𝑽𝗪ⓏⓏⓏ①ＫＺＡＷ𝟎𝟘𝟢𝟬𝟶1'],
  ])('%s does not count', (_, value) => {
    expect(readVin(value)).toEqual({ vin: 'WVWZZZ1KZAW000001', warnings: [] });
  });

  test('every VIN is read as itself, however it is written', () => {
    const separator = fc.oneof(fc.constantFrom('', '', ' ', '-', '\u00a0', '\u2013'), fc.constantFrom(...unseen));
    const written = fc.tuple(anyVin, fc.array(separator, { minLength: 17, maxLength: 17 }), fc.boolean(), fc.boolean());
    fc.assert(
      fc.property(written, ([vin, separators, lower, wide]) => {
        const shown = (character: string) => (wide ? String.fromCharCode(character.charCodeAt(0) + 0xfee0) : character);
        const value = [...vin].map((character, at) => shown(character) + separators[at]).join('');
        expect(readVin(lower ? value.toLowerCase() : value)).toMatchObject({ vin });
      }),
    );
  });

  test('no value makes readVin throw, and accepted VINs are well formed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (value) => {
        const read = readVin(value);
        if ('vin' in read) expect(read.vin).toMatch(/^[A-HJ-NPR-Z0-9]{17}$/);
        else expect(read.message).not.toBe('');
      }),
    );
  });
});

describe('check digit', () => {
  test.each(['1HGCM82633A004352', '11111111111111111', '1M8GDM9AXKP042788', 'LSVFA49J232037048'])('%s fits', (vin) => {
    expect(warningsOf(vin)).toEqual([]);
  });

  test.each(['1HGCM82633A004353', '5YJ3E1EA0JF000001', 'LSVFA49J932037048'])('%s is a warning', (vin) => {
    expect(warningsOf(vin)).toEqual(['VIN_CHECK_DIGIT']);
  });

  test('European and Japanese VINs have no check digit', () => {
    expect(warningsOf('WVWZZZ1KZAW000001')).toEqual([]);
    expect(warningsOf('JHMCM56557C404453')).toEqual([]);
    expect(warningsOf('KMHCG45C12U123456')).toEqual([]);
  });

  test('a slip in any digit of an American VIN is noticed', () => {
    fc.assert(
      fc.property(fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16), (at) => {
        const slipped = `${'1'.repeat(at)}2${'1'.repeat(16 - at)}`;
        expect(warningsOf(slipped)).toEqual(['VIN_CHECK_DIGIT']);
      }),
    );
  });
});

describe('invalid VINs', () => {
  test.each(
    [
      ['#N/A', '#NV', '#N/D', '#NB', '#N/B', '#REF!', '#BEZUG!', '#NAME?', '#¿NOMBRE?', '#¡VALOR!', '#DIV/0!', '#n/a'],
      ['#ÜBERLAUF!', '#SPILL!', '#GETTING_DATA', 'Err:502', ' #N/A '],
    ].flat(),
  )('%s is the error of a formula, to be mended there', (value) => {
    expect(readVin(value)).toEqual({
      code: 'VIN_FORMULA_ERROR',
      message: `The formula of this cell gives the error ${value.trim()}. Mend the formula, or enter the VIN itself.`,
    });
  });

  test.each(['=B2&C2', '=VLOOKUP(A2,Sheet2!A:B,2,FALSE)', '=', ' =B2'])('%s is a formula without a value', (value) => {
    expect(readVin(value)).toEqual({
      code: 'VIN_FORMULA_ERROR',
      message: `The formula ${value.trim()} has no stored value. Open the file in a spreadsheet program, save it there so that values are stored, and send it again.`,
    });
  });

  test('signs in place of a value too wide for its column are recognised', () => {
    expect(readVin('########')).toEqual({
      code: 'VIN_SPREADSHEET_DAMAGE',
      message:
        'The column was too narrow to show the value, which is ######## now. Widen the column, save the file and send it again.',
    });
  });

  test.each([
    'VIN: WVWZZZ1KZAW000001',
    'fin wvwzzz1kzaw000001',
    "WVWZZZ1KZAW000001'",
    '\u201eWVWZZZ1KZAW000001\u201c',
    '*WVWZZZ1KZAW000001*',
    'WVWZZZ1KZAW000001 / WVWZZZ1KZAW000001',
  ])('%s is taken for no VIN, but the one in it is suggested', (value) => {
    expect(readVin(value)).toMatchObject({
      code: 'VIN_INVALID_LENGTH',
      message: expect.stringMatching(/^A VIN has 17 characters; this one has \d+\. Did you mean WVWZZZ1KZAW000001\?$/),
      suggestion: 'WVWZZZ1KZAW000001',
    });
  });

  test('several VINs in one value are recognised', () => {
    const value = 'WVWZZZ1KZAW000001, WVWZZZ1KZAW000002/wvwzzz1kzaw000003';
    expect(readVin(value)).toEqual({
      code: 'VIN_INVALID_LENGTH',
      message: 'A VIN has 17 characters; this one has 53, with 3 VINs in it. Give each of them by itself.',
    });
    for (const other of ['WVWZZZ1KZAW0000012', 'ABCDEFGHJKLMNPRST one', 'WVWZZZ1KZAW00000'])
      expect(readVin(other)).toEqual({
        code: 'VIN_INVALID_LENGTH',
        message: expect.stringMatching(/^A VIN has 17 characters; this one has \d+\.$/),
      });
  });

  test.each(['#4711', '#Golf', '#', '# 12!', 'Err:x', '#N/Ax'])('%s is no error of a formula', (value) => {
    expect(readVin(value)).toMatchObject({ code: 'VIN_INVALID_LENGTH' });
  });

  test('a wrong length is reported', () => {
    expect(readVin('WVWZZZ1KZAW00001')).toEqual({
      code: 'VIN_INVALID_LENGTH',
      message: 'A VIN has 17 characters; this one has 16.',
    });
    expect(readVin(' - ')).toEqual({
      code: 'VIN_INVALID_LENGTH',
      message: 'A VIN has 17 characters; this one is empty.',
    });
  });

  test('letters mistaken for digits are reported and corrected: O is 0, I is 1, Q is 0', () => {
    expect(readVin('WVWZZZIKZAWOOOOOQ')).toMatchObject({
      code: 'VIN_INVALID_CHARACTER',
      suggestion: 'WVWZZZ1KZAW000000',
    });
    expect(readVin('wvwzzz1kzaw00000o')).toEqual({
      code: 'VIN_INVALID_CHARACTER',
      message:
        'A VIN holds the digits 0-9 and the letters A-Z without I, O and Q; this one has O at position 17. Did you mean WVWZZZ1KZAW000000?',
      suggestion: 'WVWZZZ1KZAW000000',
    });
  });

  test.each([
    ['Cyrillic', 'АВСЕНЈКМРЅТХУԜѴ', 'ABCEHJKMPSTXYWV'],
    ['Cyrillic in lower case', 'авсенјкмрѕтхуԝѵ', 'ABCEHJKMPSTXYWV'],
    ['Cyrillic that stands for digits', 'ОІԚоіԛ', '010010'],
    ['Greek', 'ΑΒΕΖΗΚΜΝΡΤΥΧϳακρχτβε', 'ABEZHKMNPTYXJAKPXTBE'],
    ['Greek that stands for digits', 'ΟΙοι', '0101'],
  ])('letters of another alphabet that look Latin are refused with the VIN in Latin ones: %s', (_, alike, latin) => {
    for (const [at, character] of [...alike].entries()) {
      const suggestion = `WVWZZZ1KZ${latin[at]}W000001`;
      expect(readVin(`WVWZZZ1KZ${character}W000001`)).toMatchObject({
        code: 'VIN_INVALID_CHARACTER',
        message: expect.stringMatching(
          new RegExp(`${character.toUpperCase()}|${character}.* at position 10\\. Did you mean ${suggestion}\\?$`),
        ),
        suggestion,
      });
    }
    expect(readVin('ѡvw\u200ezzz1kzаw00000о')).not.toHaveProperty('suggestion');
    expect(readVin('wvw\u200ezzz1kzаw00000о')).toMatchObject({ suggestion: 'WVWZZZ1KZAW000000' });
  });

  test.each([
    ['an I of a bar code in front', 'IWBA00000104711047', 18],
    ['in lower case', 'iwba00000104711047', 18],
    ['with blanks', ' I WBA 00000104711047', 18],
    ['with the signs that begin and end a code', '*IWBA00000104711047*', 20],
    ['in the envelope of a two-dimensional code', '[)>\x1e06\x1dIWBA00000104711047\x1e\x04', 23],
    ['full width', 'ＩＷＢＡ０００００１０４７１１０４７', 18],
  ])('%s is left out of the suggestion', (_, value, length) => {
    expect(readVin(value)).toEqual({
      code: 'VIN_INVALID_LENGTH',
      message: `A VIN has 17 characters; this one has ${length}. Did you mean WBA00000104711047?`,
      suggestion: 'WBA00000104711047',
    });
  });

  test('no invalid VIN is suggested', () => {
    const read = readVin('WVWZZZ1KZAW0000O*');
    expect(read).toMatchObject({ code: 'VIN_INVALID_CHARACTER' });
    expect(read).not.toHaveProperty('suggestion');
    expect(read).toMatchObject({ message: expect.stringContaining('O at position 16, * at position 17') });
  });

  test('letters that only look Latin are named by their number', () => {
    expect(readVin('WVWZZZ1KZ\u0410W000001')).toMatchObject({
      code: 'VIN_INVALID_CHARACTER',
      message: expect.stringContaining('\u0410 (U+0410) at position 10'),
    });
    // When upper-cased, a long s becomes S and a dotless i becomes I.
    expect(readVin('\u017fVWZZZ1KZAW000001')).toMatchObject({ code: 'VIN_INVALID_CHARACTER' });
    expect(readVin('WVWZZZ\u0131KZAW000001')).not.toHaveProperty('suggestion');
    expect(readVin('WVWZZZ1KZAW00000\u{1f697}')).toMatchObject({ code: 'VIN_INVALID_CHARACTER' });
  });

  test.each([
    ...[
      '12345678901234500',
      '12,345,678,901,234,500',
      '12.345.678.901.234.500',
      '12 345 678 901 234 500',
      "12'345'678'901'234'500",
    ],
    ...[
      '12345678901234500.0',
      '12345678901234500,00',
      '12,345,678,901,234,500.00',
      '１２３４５６７８９０１２３４５００',
      '12345678901234000',
    ],
    ...['\u200e1.0E+16', '\x1f########'],
  ])('%s is a number that a spreadsheet has rounded, or made unreadable', (value) => {
    expect(readVin(value)).toMatchObject({ code: 'VIN_SPREADSHEET_DAMAGE' });
  });

  test('17 digits that a spreadsheet cannot have rounded are a VIN, and the look-up of one that it can have is none', () => {
    for (const vin of ['12345678901234510', '12345678901234501', '11111111111111111'])
      expect(readVin(vin)).toMatchObject({ vin });
    expect(vinOrNull('12345678901234500')).toBe('12345678901234500');
  });

  test.each(['1.0E+16', '1,23E+16', '1.23457E+16', '2E+16', ' 1.0e+16 ', '1.0E16'])(
    '%s is spreadsheet damage',
    (value) => {
      expect(readVin(value)).toMatchObject({
        code: 'VIN_SPREADSHEET_DAMAGE',
        message: expect.stringContaining(value.trim()),
      });
    },
  );

  test('digits with an E among them are a VIN, not damage', () => {
    expect(readVin('92345678E12345678')).toEqual({ vin: '92345678E12345678', warnings: [] });
  });
});
