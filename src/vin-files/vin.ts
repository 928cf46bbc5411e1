import { cutText } from './cut-text.ts';

export const vinErrorCodes = [
  'VIN_INVALID_LENGTH',
  'VIN_INVALID_CHARACTER',
  'VIN_SPREADSHEET_DAMAGE',
  'VIN_FORMULA_ERROR',
] as const;

/** `VIN_CHECK_DIGIT`: well formed, but the check digit does not fit; a typing error is likely. */
export const vinWarnings = ['VIN_CHECK_DIGIT'] as const;

/** Why a value is not a VIN: `message` names the place, `suggestion` is a VIN it was probably meant to be. */
export interface VinError {
  code: (typeof vinErrorCodes)[number];
  message: string;
  suggestion?: string;
}

export interface Vin {
  vin: string;
  warnings: (typeof vinWarnings)[number][];
}

const LENGTH = 17;
const CLEAN = /^[A-HJ-NPR-Z\d]{17}$/;
/** People read the last two characters off papers; one alone would be in every other VIN. */
const CLEAN_PART = /^[A-HJ-NPR-Z\d]{2,17}$/;
const CLEAN_CHARACTER = /^[A-HJ-NPR-Z\d]$/;

/** North America (1–5) and China (L) prescribe the check digit; elsewhere its place holds anything. */
const CHECK_DIGIT_DUE = '12345L';
const CHECK_DIGIT_AT = 8;
const WEIGHTS = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
/** The value of each character in the check digit, by its code: its index here, modulo 10 (ISO 3779, 49 CFR 565). */
const VALUES = new Uint8Array(128);
for (const [at, character] of [...'0123456789.ABCDEFGH..JKLMN.P.R..STUVWXYZ'].entries()) {
  VALUES[character.charCodeAt(0)] = at % 10;
}

/** Letters that no VIN has, with the digits that they are mistaken for; Cyrillic and Greek letters, with those that they look like. */
const MISTAKEN: ReadonlyMap<string, string> = new Map(
  [
    ['OIQ', '010'],
    ['АВСЕНІЈКМОРЅТУҮХԚԜѴ', 'ABCEH1JKM0PSTYYX0WV'],
    ['авсеніјкморѕтуүхԛԝѵ', 'ABCEH1JKM0PSTYYX0WV'],
    ['ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϳαβεικορτχ', 'ABEZH1KMN0PTYXJABE1K0PTX'],
  ].flatMap(([alike = '', meant = '']) => [...alike].map((letter, at): [string, string] => [letter, meant.charAt(at)])),
);

/** Spaces and dashes of every kind, and what nobody sees, as scanners send it and as it is copied from documents. */
const SEPARATORS = /[\s\p{Dash_Punctuation}\u2212\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu;
const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu;
/** Characters outside ASCII but a long s, which Unicode would fold to an S that nobody reads. */
const NOT_ASCII = /[^\0-\x7fſ]+/g;

/** 17 digits of which a spreadsheet has kept 15, perhaps with separators. */
const ROUNDED = /^(?:\d{15}|\d\d([.,'’])(?:\d{3}\1){4}\d)00(?:[.,]0+)?$/;

/** Values that spreadsheets make of a VIN. */
const SPREADSHEET_FAULTS: readonly { pattern: RegExp; code: VinError['code']; message(value: string): string }[] = [
  {
    pattern: ROUNDED,
    code: 'VIN_SPREADSHEET_DAMAGE',
    message: (value) =>
      `A spreadsheet has rounded this VIN to the number ${value}. Format the column as text and enter the VIN again.`,
  },
  {
    // A VIN such as 1234567E890123456, read as a number: `1.0E+16`, `1,23E+16`.
    pattern: /^[-+]?\d+(?:E\+|[.,]\d+E\+?)\d+$/i,
    code: 'VIN_SPREADSHEET_DAMAGE',
    message: (value) =>
      `A spreadsheet has turned this VIN into the number ${value}. Format the column as text and enter the VIN again.`,
  },
  {
    pattern: /^##+$/,
    code: 'VIN_SPREADSHEET_DAMAGE',
    message: (value) =>
      `The column was too narrow to show the value, which is ${value} now. Widen the column, save the file and send it again.`,
  },
  {
    pattern: /^=/,
    code: 'VIN_FORMULA_ERROR',
    message: (value) =>
      `The formula ${value} has no stored value. Open the file in a spreadsheet program, save it there so that values are stored, and send it again.`,
  },
  {
    // In any language: `#REF!`, `#NOMBRE?`, `#NV`; and those of LibreOffice.
    pattern: /^(?:#[¡¿]?[\p{L}/0]+[!?]|#N\/?[ABDV]|#GETTING_DATA|Err:\d+)$/iu,
    code: 'VIN_FORMULA_ERROR',
    message: (value) => `The formula of this cell gives the error ${value}. Mend the formula, or enter the VIN itself.`,
  },
];

/** Reads a VIN, ignoring case, width, spaces and dashes; gives an error for anything else, and throws nothing. */
export function readVin(value: string): Vin | VinError {
  if (isVin(value)) return withWarnings(value);
  const vin = normalizeVinPart(value);
  return isVin(vin) ? withWarnings(vin) : errorOf(vin, plainWidth(value));
}

const isVin = (vin: string): boolean => CLEAN.test(vin) && !(vin.endsWith('00') && ROUNDED.test(vin));

/** A VIN, or a part of one, without spaces and dashes, in upper case. */
export const normalizeVinPart = (value: string): string =>
  plainWidth(value)
    .replace(SEPARATORS, '')
    .replace(/[a-z]+/g, (letters) => letters.toUpperCase());

const plainWidth = (value: string): string => value.replace(NOT_ASCII, (text) => text.normalize('NFKC'));

/** A text as people see it, with letters and digits of the usual width. */
export const visibleText = (value: string): string => plainWidth(value).replace(INVISIBLE, '').trim();

/** Whether a VIN may begin or end with these characters, or be them. */
export const isPartOfVin = (characters: string): boolean => CLEAN_PART.test(characters);

export const isWholeVin = ({ length }: string): boolean => length === LENGTH;

/** The warnings of a VIN as one text, for a list of many; null for none. */
export const vinWarningsText = ({ warnings }: Vin): string | null => (warnings.length > 0 ? warnings.join(' ') : null);

/** The VIN in its normal form, or null. */
export function vinOrNull(value: string): string | null {
  const vin = normalizeVinPart(value);
  return CLEAN.test(vin) ? vin : null;
}

function withWarnings(vin: string): Vin {
  const checkDigitWrong = CHECK_DIGIT_DUE.includes(vin.charAt(0)) && vin[CHECK_DIGIT_AT] !== checkDigit(vin);
  return { vin, warnings: checkDigitWrong ? ['VIN_CHECK_DIGIT'] : [] };
}

function checkDigit(vin: string): string {
  let sum = 0;
  for (let at = 0; at < LENGTH; at++) sum += (VALUES[vin.charCodeAt(at)] ?? 0) * (WEIGHTS[at] ?? 0);
  return '0123456789X'.charAt(sum % 11);
}

function errorOf(vin: string, value: string): VinError {
  const seen = visibleText(value);
  const fault = SPREADSHEET_FAULTS.find(({ pattern }) => pattern.test(pattern === ROUNDED ? vin : seen));
  if (fault) return { code: fault.code, message: fault.message(shortened(seen)) };
  const characters = [...vin];
  if (characters.length === LENGTH) return characterError(characters);
  return lengthError(characters.length, `${value.slice(0, SEARCHED)} ${vin.slice(0, SEARCHED)}`);
}

/** Words of 17 letters and digits, one of them a digit, without the I that bar codes have in front of a VIN. */
const VINS_WITHIN = /(?<=(?:^|[^A-Z\d])I?)(?=[A-Z]{0,16}\d)[A-HJ-NPR-Z\d]{17}(?![A-Z\d])/g;
/** Characters of a value that are searched for VINs, since cells may be long. */
const SEARCHED = 1000;

function lengthError(length: number, value: string): VinError {
  const code = 'VIN_INVALID_LENGTH';
  const found = length === 0 ? 'this one is empty' : `this one has ${length}`;
  const message = `A VIN has ${LENGTH} characters; ${found}`;
  const within = new Set(value.toUpperCase().match(VINS_WITHIN));
  const [suggestion] = within;
  if (!suggestion) return { code, message: `${message}.` };
  if (within.size === 1) return { code, message: `${message}. Did you mean ${suggestion}?`, suggestion };
  return { code, message: `${message}, with ${within.size} VINs in it. Give each of them by itself.` };
}

const NAMED_CHARACTERS = 3;

function characterError(characters: readonly string[]): VinError {
  const wrong = characters.flatMap((character, at) => (CLEAN_CHARACTER.test(character) ? [] : [{ character, at }]));
  const first = wrong
    .slice(0, NAMED_CHARACTERS)
    .map(({ character, at }) => `${named(character)} at position ${at + 1}`);
  const others = wrong.length - first.length;
  const places = others > 0 ? `${first.join(', ')} and ${others} more` : first.join(', ');
  const message = `A VIN holds the digits 0-9 and the letters A-Z without I, O and Q; this one has ${places}.`;
  const suggestion = characters.map((character) => MISTAKEN.get(character) ?? character).join('');
  if (!CLEAN.test(suggestion)) return { code: 'VIN_INVALID_CHARACTER', message };
  return { code: 'VIN_INVALID_CHARACTER', message: `${message} Did you mean ${suggestion}?`, suggestion };
}

/** A character with its number, if it may look like another one, or like nothing. */
function named(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code > 32 && code < 127) return character;
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? `${character} (${number})` : number;
}

const SHOWN = 40;
const shortened = (value: string) => (value.length > SHOWN ? `${cutText(value, SHOWN)}…` : value);
