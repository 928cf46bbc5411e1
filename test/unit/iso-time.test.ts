import fc from 'fast-check';
import { expect, test } from 'vitest';
import { time } from '../../src/core/sql/row-values.ts';
import { Utf8 } from '../../src/core/sql/utf8.ts';

const EPOCH = BigInt(Date.UTC(2000, 0, 1));

test('times of rows are what Date makes of them, whatever is less than a millisecond', () => {
  const years = {
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  };
  fc.assert(
    fc.property(fc.date(years), fc.integer({ min: 0, max: 999 }), (date, microseconds) => {
      const row = Buffer.alloc(8);
      row.writeBigInt64BE((BigInt(date.getTime()) - EPOCH) * 1000n + BigInt(microseconds));
      const out = new Utf8();
      time(out, row, 0, 8);
      expect(out.written.toString()).toBe(date.toISOString());
    }),
    { numRuns: 5000 },
  );
});
