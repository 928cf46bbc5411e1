import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { newId } from '../../src/core/sql/sql.ts';

test('new ids are UUIDv7, ascending, with the present time and distinct random bytes', () => {
  const began = Date.now();
  // More ids than one batch of random bytes suffices for.
  const ids = Array.from({ length: 5000 }, newId);
  expect(ids.filter((id) => !validate(id) || version(id) !== 7)).toEqual([]);
  expect(ids.filter((id, at) => at > 0 && id <= (ids[at - 1] ?? ''))).toEqual([]);
  expect(new Set(ids.map((id) => id.slice(-10))).size).toBe(ids.length);
  const time = Number.parseInt((ids[0] ?? '').replace('-', '').slice(0, 12), 16);
  expect(time).toBeGreaterThanOrEqual(began);
  expect(time).toBeLessThanOrEqual(Date.now());
});
