import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { statusOf } from '../../src/core/errors.ts';
import { importFailureCodes } from '../../src/core/imports/imports.ts';
import { rejectionCodes } from '../../src/core/vehicles/vin-lists.ts';
import { deliveryErrors } from '../../src/core/webhooks/sender.ts';
import { haltReasonCodes } from '../../src/core/webhooks/webhook.ts';
import { reasonCodes } from '../../src/manufacturers/provider.ts';
import { folder, sentencesOf, stubPage } from '../support/sentences.ts';

const codes = ['de', 'fr', 'it', 'es', 'nl'];
const { said, things, dynamic } = await sentencesOf();
const valuesIn = (sentence: string) => sentence.match(/\{\w+\}/g) ?? [];
const dictionaryOf = (code: string) => JSON.parse(readFileSync(join(folder, 'languages', `${code}.json`), 'utf8'));

test('the console translates literal texts only', () => {
  expect(dynamic).toEqual([]);
  expect(said.size).toBeGreaterThan(350);
});

describe.each(codes)('%s', (code) => {
  test('has every sentence of the console, and no other', () => {
    const { sentences } = dictionaryOf(code);
    expect(Object.keys(sentences).toSorted()).toEqual([...said].toSorted());
    expect(Object.values(sentences).filter((sentence) => sentence === '')).toEqual([]);
  });

  test('keeps the placeholders of each sentence, those of templates in order, without markup', () => {
    const { sentences } = dictionaryOf(code);
    for (const [sentence, own] of Object.entries<string>(sentences)) {
      const isTemplate = sentence.includes('{0}');
      const [values, wanted] = [valuesIn(own), valuesIn(sentence)];
      expect(isTemplate ? values : values.toSorted(), sentence).toEqual(isTemplate ? wanted : wanted.toSorted());
      expect(own, sentence).not.toMatch(sentence.includes('"') ? /[<>]/ : /[<>"]/);
    }
  });
});

test.each(['en', ...codes])('%s has all counted things in all plural forms', (code) => {
  const { numbers } = dictionaryOf(code);
  expect(Object.keys(numbers).toSorted()).toEqual([...things].toSorted());
  for (const forms of Object.values<Record<string, string>>(numbers)) {
    expect(Object.keys(forms)).toEqual(['one', 'other']);
    for (const form of Object.values(forms)) expect(valuesIn(form)).toEqual(['{count}']);
  }
});

/** Punctuation that each language does not have, and familiar forms of address. */
const wrongIn: Record<string, [marks: RegExp, words: RegExp]> = {
  de: [/[”«»]|\s[:;!?]|(?<!^|\u00a0)…/u, /^(?:[Dd]u|[Dd]ein\p{L}*|VINs?)$/u],
  fr: [/[“”„]|(?<!\u202f)(?:[;!?»]|:(?!\/\/))|«(?!\u202f)|\s…/u, /^(?:tu|te|ton|ta|tes)$/iu],
  it: [/[«»„]|\s[:;!?]|\s…/u, /^(?:voi|vi|vostr[aeio])$/iu],
  es: [/[“”„]|\s[:;!?]|\s…|^[^¿]*\?|^[^¡]*!/u, /^(?:tú|tu|tus|vuestr[ao]s?)$/iu],
  nl: [/[“”„«»]|\s[:;!?]|(?<!^|\u00a0)…/u, /^(?:je|jij|jouw)$/iu],
};

test.each(Object.entries(wrongIn))('%s keeps its punctuation and its form of address', (code, [marks, words]) => {
  const { sentences, numbers, codes: ofCodes } = dictionaryOf(code);
  const all = [sentences, ofCodes, ...Object.values<object>(numbers)].flatMap((one) => Object.values<string>(one));
  // The examples of JSON are those of programs.
  const texts = all.map((text) => text.replaceAll(/\[.*\]/g, ''));
  expect(texts.length).toBeGreaterThan(500);
  expect(texts.filter((text) => /["'`]/.test(text) || marks.test(text))).toEqual([]);
  expect(texts.filter((text) => text.split(/[^\p{L}]+/u).some((word) => words.test(word)))).toEqual([]);
});

/** Codes inside `errors`, as the reference lists them. */
const ofFields = /Codes inside `errors`[^:]*: ([^.]*)/.exec(readFileSync('docs/reference.md', 'utf8'))?.[1] ?? '';
const closed = [
  ...[...Object.keys(statusOf), ...reasonCodes, ...rejectionCodes, ...importFailureCodes],
  ...[...Object.keys(deliveryErrors), ...Object.values(haltReasonCodes)],
  ...[...ofFields.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code),
];

test.each(['en', ...codes])('%s has a sentence for every code of the gateway, with the same values', (code) => {
  const [own, english] = [dictionaryOf(code), dictionaryOf('en')];
  expect(closed.filter((one) => !own.codes[one])).toEqual([]);
  expect(closed.length).toBeGreaterThan(65);
  expect(Object.keys(own.codes)).toEqual(Object.keys(english.codes));
  for (const [one, sentence] of Object.entries<string>(own.codes)) {
    expect(valuesIn(sentence), one).toEqual(valuesIn(english.codes[one]));
  }
});

test('a missing column of VINs is told in each language, without the names of columns that the gateway knows', () => {
  const said = ['en', ...codes].map((code) => dictionaryOf(code).codes.VIN_COLUMN_MISSING as string);
  expect(new Set(said).size).toBe(6);
  expect(said.filter((one) => one.length > 180 || one.includes('{message}'))).toEqual([]);
});

test('sentences come from codes and values; the gateway’s English stands where the page has none', async () => {
  stubPage(['de']);
  vi.stubGlobal('sessionStorage', { getItem: () => null });
  vi.resetModules();
  const { said } = await import(join(folder, 'codes.js'));
  const message = 'The gateway says so. Did you mean WBA3A5C50CF256985?';
  const wrong = said({ code: 'VIN_INVALID_CHARACTER', message, value: 'wba 3A5C-50CF25698O' });
  expect(wrong).toMatch(/^Eine FIN hat Ziffern .*erlaubt: O. Meinten Sie WBA3A5C50CF256985\?/);
  expect(said({ code: 'VIN_INVALID_LENGTH', message: 'No.', value: 'WBA 123' })).toMatch(/diese hat 6\.$/);
  expect(said({ code: 'TOO_SMALL', message: 'must not be empty' }, 'name')).toBe('Füllen Sie dieses Feld aus.');
  const rejected = said({ code: 'ACTIVATION_REJECTED', message: 'The fleet has no licence.' });
  expect(rejected[0]).toBe('Der Hersteller hat die Aktivierung abgelehnt. ');
  expect(rejected[1].props).toEqual({ lang: 'en', children: 'The fleet has no licence.' });
  const unread = said({ code: 'UNSUPPORTED_MEDIA_TYPE', message: 'It is a PDF document.' });
  expect(unread[0]).toMatch(/als .xlsx oder „CSV UTF-8“ und senden/);
  expect(unread[1].props).toEqual({ lang: 'en', children: 'It is a PDF document.' });
  const other = said({ code: 'OF_ANOTHER_VERSION', message: 'In English.' });
  expect([other].flat().at(-1).props).toEqual({ lang: 'en', children: 'In English.' });
});

const chosen: [browser: string[], kept: string | null, language: string, locale: string][] = [
  [['de-AT', 'en'], null, 'de', 'de-AT'],
  [['pl', 'fr-CA', 'en'], null, 'fr', 'fr-CA'],
  [['pl'], null, 'en', 'en'],
  [['en-GB'], 'nl', 'nl', 'nl'],
  [['en-GB'], 'constructor', 'en', 'en-GB'],
];
test.each(chosen)('browsers with languages %j and the choice %j get %s', async (browser, kept, language, locale) => {
  stubPage(browser, kept);
  vi.resetModules();
  const page = await import(`${join(folder, 'languages/language.js')}?${browser}${kept}`);
  expect([page.language, page.locale]).toEqual([language, locale]);
  expect(page.counted(1234, 'vehicle')).toContain(new Intl.NumberFormat(locale).format(1234));
  expect(page.counted(1, 'fleet')).not.toBe(page.counted(2, 'fleet'));
});

test('templates keep their values and markup, and translate visible text', async () => {
  const { translated } = await import(join(folder, 'languages/template.js'));
  const told = (sentence: string) => sentence.toUpperCase();
  expect(translated(['<p class="dim" title="More">… and ', ' more.</p>\n  <', ' label="Found" />'], told)).toEqual([
    '<p class="dim" title="MORE">… AND ',
    ' MORE.</p>\n  <',
    ' label="FOUND" />',
  ]);
  expect(translated(['', ' · ', ''], told)).toEqual(['', ' · ', '']);
});

test('every visible text is translated', async () => {
  const { strings } = await sentencesOf();
  const sentence = /^[A-ZÄ“][a-z]+(?: |$)|^(?:in|is|of|and|just) [a-z]/;
  expect(strings.filter((text) => sentence.test(text) && !/^(?:Bearer|Enter$|Files|Fleet Gateway)/.test(text))).toEqual(
    [],
  );
});
