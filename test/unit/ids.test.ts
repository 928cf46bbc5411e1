import { validate, version } from 'uuid';
import { expect, onTestFinished, test, vi } from 'vitest';
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

test('ids go on while a clock is set back by seconds, and have the present time again after one that was a day ahead', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const timeOf = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  const now = Date.now() + 60_000;
  vi.setSystemTime(now);
  const first = newId();
  vi.setSystemTime(now - 5_000);
  expect(newId() > first).toBe(true);
  vi.setSystemTime(now + 86_400_000);
  newId();
  vi.setSystemTime(now + 1_000);
  expect(timeOf(newId())).toBe(now + 1_000);
});
