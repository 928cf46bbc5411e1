import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoAt } from '../../src/core/sql/iso-time.ts';

test('times of rows are what Date makes of them, whatever is less than a millisecond', () => {
  const years = {
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(years), fc.integer({ min: 0, max: 999 }), (date, microseconds) => {
      const more = date.getTime() > 0 && date.getTime() < 2 ** 32 * 1000 ? microseconds : 0;
      expect(isoAt((date.getTime() * 1000 + more) / 1e6)).toBe(date.toISOString());
    }),
    { numRuns: 5000 },
  );
});
