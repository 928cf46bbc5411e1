import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long a test waits for a state before it fails. One budget for every wait, generous, so that a busy machine makes tests
 * slower and never fails them; a test and a hook, which wait several times, have twice as much.
 */
export const BUDGET_MS = 60_000;

/** Starts something up to so many ms later, so that what races meets in another order each time; waits for no state. */
export const stagger = (ms: number): Promise<void> => delay(ms);

/** Asks until the answer is something, or true, and gives it: null, undefined and false mean not yet. */
export async function until<T>(
  ask: () => Promise<T> | T,
  ms = BUDGET_MS,
): Promise<Exclude<NonNullable<Awaited<T>>, false>> {
  for (const end = performance.now() + ms; performance.now() < end; await delay(25)) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) {
      return answer as Exclude<NonNullable<Awaited<T>>, false>;
    }
  }
  throw new Error(`waited ${ms} ms in vain for ${ask}`);
}
