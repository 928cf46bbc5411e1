import { z } from 'zod';
import { type Fault, PayloadTooLarge, ValidationFailed } from './errors.ts';

/** Text for people: trimmed, any script. NUL is refused because PostgreSQL cannot keep it. */
export const text = (max: number) =>
  z
    .string('is required and must be a string')
    .trim()
    .min(1, 'must not be empty')
    .max(max, `is at most ${max} characters`)
    .refine((value) => !value.includes('\0') && value.isWellFormed(), 'holds characters that are not text');

export const email = text(254).pipe(z.email('is not an e-mail address'));

/** An id as it came in. A malformed one cannot exist, so it is looked up like any other and not found. */
export const id = z.string('is required and must be a string');

/** A point in time: ISO 8601 with a zone; 30 February is refused, not moved to March. */
export const time = z.iso
  .datetime({
    offset: true,
    // What is no date cannot be compared with another one either.
    abort: true,
    error: 'is not an ISO 8601 date-time with a time zone, such as 2026-01-31T08:00:00Z',
  })
  .transform((value) => new Date(value))
  .refine((date) => date >= earliest && date <= latest, 'is not a date between the years 1900 and 9998');

const earliest = new Date('1900-01-01T00:00:00Z');
const latest = new Date('9998-12-31T23:59:59.999Z');

/** A list of at most `most` items; throws PayloadTooLarge for a longer one, before any item is looked at. */
export const listOf = <Item extends z.ZodType>(item: Item, most: number, message: string) =>
  z.preprocess((value) => bounded(value, most), z.array(item, message));

function bounded(value: unknown, most: number): unknown {
  if (!Array.isArray(value) || value.length <= most) return value;
  throw new PayloadTooLarge(`At most ${most} items in one list; this one has ${value.length}. Send several lists.`);
}

/**
 * Reads `input` by its schema, or throws ValidationFailed with the faults and their paths. Where `longest` is given, no list
 * in it has more items: PayloadTooLarge, before any item is looked at.
 */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  { longest = Number.POSITIVE_INFINITY }: { longest?: number } = {},
): z.output<Schema> {
  if (typeof input === 'object' && !Array.isArray(input))
    for (const value of Object.values(input ?? {})) bounded(value, longest);
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new ValidationFailed(parsed.error.issues.flatMap(faultsOf));
}

/** One zod or Standard Schema issue in our words. */
export function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  return [{ path: issue.path.join('.'), code: codes[issue.code] ?? 'INVALID', message: issue.message }];
}

const codes: Partial<Record<z.core.$ZodIssue['code'], string>> = {
  invalid_type: 'INVALID_TYPE',
  too_small: 'TOO_SMALL',
  too_big: 'TOO_LARGE',
  invalid_format: 'INVALID_FORMAT',
  invalid_value: 'INVALID_VALUE',
};
