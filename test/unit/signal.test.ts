import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { WakeSignal } from '../../src/core/followers.ts';

const never = () => new AbortController().signal;

test('rings between two waits wake the next one, once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(3)), async (ringsBetween) => {
      const one = new WakeSignal();
      for (const rings of ringsBetween) {
        for (let ring = 0; ring < rings; ring++) one.ring();
        expect(await one.wait({ ms: 0, signal: never() })).toBe(rings > 0);
      }
    }),
  );
});

test('a ring ends the wait that is under way, and a cleared ring wakes no wait', async () => {
  const one = new WakeSignal();
  const waiting = one.wait({ signal: never() });
  one.ring();
  expect(await waiting).toBe(true);
  one.ring();
  one.forget();
  expect(await one.wait({ ms: 0, signal: never() })).toBe(false);
});

test('a wait ends with its time', async () => {
  vi.useFakeTimers();
  try {
    const waiting = new WakeSignal().wait({ ms: 20_000, signal: never() });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await waiting).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a wait ends with its signal, before and during it, and removes its listener', async () => {
  const end = new AbortController();
  const one = new WakeSignal();
  const waiting = one.wait({ ms: 20_000, signal: end.signal });
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(1);
  end.abort();
  expect(await waiting).toBe(false);
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(0);
  one.ring();
  expect(await one.wait({ signal: end.signal })).toBe(false);
});
