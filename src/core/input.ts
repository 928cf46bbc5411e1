import { z } from 'zod';
import { type Fault, ValidationFailed } from './errors.ts';

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

/** Reads `input` by its schema, or throws ValidationFailed with every fault and its path. */
export function readInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
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
