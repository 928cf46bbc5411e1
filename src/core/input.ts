import { z } from 'zod';
import { type InputError, PayloadTooLarge, ValidationFailed } from './errors.ts';

/** Text that a row can hold: no NUL, which PostgreSQL rejects, and no half of a character. */
export const storableText = (string: z.ZodString) =>
  string.refine((value) => !value.includes('\0') && value.isWellFormed(), 'holds characters that are not text');

/** Replaces the characters that PostgreSQL cannot store, for texts that cannot be rejected. */
export const mendText = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

/** A value as JSON, without the characters that PostgreSQL cannot store: JSON has them escaped. */
export const toMendedJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f]..)/g, '$1\uFFFD');

/** The number of items in the lists of an unread input: in the object itself, and in objects that are its members. */
export function countInputItems(input: unknown, depth = 2): number {
  if (Array.isArray(input)) return input.length;
  if (typeof input !== 'object' || input === null || depth === 0) return 0;
  return Object.values(input).reduce((sum: number, member) => sum + countInputItems(member, depth - 1), 0);
}

/** Text for people: trimmed, any script. */
export const textSchema = (max: number) =>
  storableText(z.string().trim().min(1, 'must not be empty').max(max, `must have at most ${max} characters`));

/** Any script (RFC 6531), and a domain of several names; neither quotes nor comments, which mail forms refuse as well. */
const EMAIL =
  /^(?:[^\p{C}\p{Z}"(),.:;<>@[\\\]]+\.)*[^\p{C}\p{Z}"(),.:;<>@[\\\]]+@(?:[\p{L}\p{N}][\p{L}\p{M}\p{N}\p{Join_C}-]*\.)+(?:xn--[a-z\d-]+|\p{L}[\p{L}\p{M}\p{Join_C}]+)$/iu;

export const emailSchema = textSchema(254).pipe(z.string().regex(EMAIL, 'is not an e-mail address'));

/** An id, unparsed: a malformed one is looked up like any other, and not found. */
export const idSchema = z.string();

/** A point in time (readTime) between the years 1900 and 9999. */
export const timeSchema = z
  .string()
  .meta({ format: 'date-time' })
  .transform((value, issues) => {
    const date = readTime(value);
    if (date) return date;
    const message = DATE_TIME.test(value)
      ? 'is a day that does not exist'
      : 'is not an ISO 8601 date-time with a time zone, such as 2026-01-31T08:00:00Z';
    issues.addIssue({ code: 'invalid_format', format: 'datetime', message });
    // Later checks compare dates, so they must not see this value.
    return z.NEVER;
  })
  .refine((date) => date >= earliest && date <= latest, 'must be between the years 1900 and 9999');

const earliest = new Date('1900-01-01T00:00:00Z');
const latest = new Date('9999-12-31T23:59:59.999Z');

/** RFC 3339, where `T` may be small or a space, and ISO 8601 without seconds or with a shorter offset. */
const DATE_TIME =
  /^(?<day>\d{4}-\d\d-\d\d)[Tt ](?<minute>(?:[01]\d|2[0-3]):[0-5]\d)(?::(?<second>[0-5]\d)(?:[.,](?<fraction>\d+))?)?(?:[Zz]|(?<hours>[+-](?:[01]\d|2[0-3]))(?::?(?<minutes>[0-5]\d))?)$/;

/** Reads a date-time with a time zone, to the millisecond; null for what is none, or no day of the calendar. */
export function readTime(text: string): Date | null {
  const { groups } = DATE_TIME.exec(text) ?? {};
  if (!groups) return null;
  const { day, minute, second = '00', fraction = '', hours = '+00', minutes = '00' } = groups;
  const midnight = new Date(`${day}T00:00:00Z`);
  // 30 February would be taken for 2 March.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(`${day}T`)) return null;
  return new Date(`${day}T${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}${hours}:${minutes}`);
}

/** The values of a filter's list, any of which fits. */
export const MOST_FILTER_VALUES = 1000;

/** A list of at most `most` items; throws PayloadTooLarge for a longer one, before any item is looked at. */
export const listSchema = <Item extends z.ZodType>(item: Item, most: number) =>
  z.preprocess((value: z.input<Item>[]) => bounded(value, most), z.array(item));

function bounded(value: unknown, most: number): unknown {
  if (!Array.isArray(value) || value.length <= most) return value;
  throw new PayloadTooLarge(`At most ${most} items in one list; this one has ${value.length}. Send several lists.`);
}

/** Reads `input`; throws ValidationFailed, and PayloadTooLarge for a list longer than `longest`, unread. */
export function readInput<Schema extends z.ZodType>(schema: Schema, input: unknown, { longest = Infinity } = {}) {
  if (typeof input === 'object' && !Array.isArray(input))
    for (const value of Object.values(input ?? {})) bounded(value, longest);
  const parsed = schema.safeParse(input, { error: messageOf, reportInput: true });
  if (parsed.success) return parsed.data;
  throw new ValidationFailed(parsed.error.issues.flatMap(inputErrorsOf));
}

const kinds: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** The message for a long text and for a value of another type, or of none of an enumeration, unless the schema has its own. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_big' && issue.origin === 'string') return `must have at most ${issue.maximum} characters`;
  if (issue.code !== 'invalid_type' && issue.code !== 'invalid_value') return undefined;
  const { input } = issue;
  if (input === null) return 'must not be null';
  const what =
    issue.code === 'invalid_type' ? (kinds[issue.expected] ?? issue.expected) : `one of ${issue.values.join(', ')}`;
  return input === undefined ? `is required and must be ${what}` : `must be ${what}`;
}

export function inputErrorsOf(issue: z.core.$ZodIssue): InputError[] {
  const { path, code, message, input } = issue;
  const link = /^is (?:not|a) /.test(message) ? ': ' : message.startsWith('must ') ? ', not ' : null;
  const shown = link && typeof input === 'string' && READABLE.test(input) ? `${link}"${input}"` : '';
  const paths = code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  return paths.map((one) => ({ path: one.join('.'), code: codes[code] ?? 'INVALID', message: `${message}${shown}` }));
}

/** Values that messages repeat; people see in the path which one a longer one is. */
const READABLE = /^[^\p{C}]{1,40}$/u;

const codes: Partial<Record<z.core.$ZodIssue['code'], string>> = {
  invalid_type: 'INVALID_TYPE',
  too_small: 'TOO_SMALL',
  too_big: 'TOO_LARGE',
  invalid_format: 'INVALID_FORMAT',
  invalid_value: 'INVALID_VALUE',
};

/** A Standard Schema of core's schema. It keeps the value: core parses it later, and cannot parse a result twice. */
export const standardSchemaOf = (schema: z.ZodType) => ({
  '~standard': {
    version: 1 as const,
    vendor: 'zod',
    validate(value: unknown) {
      const { error } = schema.safeParse(value, { error: messageOf, reportInput: true });
      return error ? { issues: error.issues } : { value };
    },
  },
});
