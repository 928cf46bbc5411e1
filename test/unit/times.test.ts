import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTime } from '../../src/core/input.ts';

/** The time by Temporal, which knows at most nine digits of a fraction. */
function reference(text: string): Date | null {
  const nineDigits = text.replace(/([.,]\d{9})\d+/, '$1');
  try {
    return new Date(Temporal.Instant.from(nineDigits).epochMilliseconds);
  } catch {
    return null;
  }
}

const digits = (count: number, max: number) =>
  fc.integer({ min: 0, max }).map((number) => String(number).padStart(count, '0'));
const often = <T>(...values: T[]) => fc.constantFrom(...values);

/** Date-times that are valid, nearly valid, or invalid in one place or several. */
const dateTimes = fc
  .tuple(
    fc.oneof(digits(4, 9999), often('1900', '2000', '2024', '2026', '2100')),
    fc.oneof(digits(2, 13), often('01', '02', '12')),
    fc.oneof(digits(2, 32), often('01', '28', '29', '30', '31')),
    fc.oneof({ weight: 9, arbitrary: often('T', 't', ' ') }, often('', '_', '  ')),
    fc.oneof(digits(2, 25), often('00', '23')),
    fc.oneof(digits(2, 61), often('00', '59')),
    fc.oneof(
      often('', ':00', ':59'),
      digits(2, 61).map((second) => `:${second}`),
      often(':', ':5'),
    ),
    fc.oneof(
      { weight: 3, arbitrary: often('') },
      fc.tuple(often('.', ','), fc.stringMatching(/^\d{0,20}$/)).map((parts) => parts.join('')),
    ),
    fc.oneof(
      { weight: 2, arbitrary: often('Z', 'z', '+00:00', '-00:00', '+01', '+0530', '-23:59') },
      fc.tuple(often('+', '-', ' '), digits(2, 25), often(':', ''), digits(2, 61)).map((parts) => parts.join('')),
      often('', 'Y', '+1:00', '+24', '+01:', '+01:0'),
    ),
  )
  .map(([year, month, day, t, hour, minute, second, fraction, zone]) => [
    `${year}-${month}-${day}${t}${hour}:${minute}${second}${second ? fraction : ''}${zone}`,
    second,
  ])
  // PostgreSQL has no leap seconds, and neither has the gateway.
  .filter(([, second]) => second !== ':60')
  .map(([text = '']) => text);

describe('A date-time', () => {
  test('is read as Temporal reads it, to the millisecond', () => {
    let read = 0;
    fc.assert(
      fc.property(dateTimes, (text) => {
        const date = readTime(text);
        expect(date).toEqual(reference(text));
        if (date) read += 1;
      }),
      { numRuns: 20_000 },
    );
    expect(read).toBeGreaterThan(500);
  });

  test('of every day of the calendar is one, and of no other day', () => {
    for (let year = 1899; year <= 2101; year++) {
      for (let month = 1; month <= 12; month++) {
        for (let day = 28; day <= 32; day++) {
          const date = [String(year), String(month).padStart(2, '0'), day].join('-');
          expect(readTime(`${date}T12:00Z`), date).toEqual(reference(`${date}T12:00Z`));
        }
      }
    }
  });

  test.each([
    ['2030-01-01T00:00Z', '2030-01-01T00:00:00.000Z'],
    ['2030-01-01T01:00+01:00', '2030-01-01T00:00:00.000Z'],
    ['2030-01-01T05:30:00.1239+0530', '2030-01-01T00:00:00.123Z'],
    ['2029-12-31t23:00:00,5-01', '2030-01-01T00:00:00.500Z'],
    ['2030-01-01 00:00:00+00:00', '2030-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(readTime(text)?.toISOString()).toBe(iso);
  });

  test.each([
    ...[
      '2030-01-01',
      '2030-01-01T00:00',
      '2030-01-01T00Z',
      '20300101T000000Z',
      '2030-001T00:00Z',
      '+002030-01-01T00:00Z',
    ],
    ...['2030-02-30T00:00Z', '2025-02-29T00:00Z', '2030-04-31T00:00Z', '2030-13-01T00:00Z', '2030-00-01T00:00Z'],
    ...['2030-01-01T24:00Z', '2030-01-01T24:01Z', '2030-01-01T00:60Z', '2030-01-01T23:59:60Z', '2030-01-01T00:00:00.Z'],
    ...[
      '2030-01-01T00:00+24:00',
      '2030-01-01T00:00 01:00',
      '2030-01-01T00:00Z[UTC]',
      ' 2030-01-01T00:00Z',
      '٢٠٣٠-01-01T00:00Z',
    ],
  ])('%s is none', (text) => {
    expect(readTime(text)).toBeNull();
  });
});
