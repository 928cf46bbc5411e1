import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks until the answer is something, or true, and gives it: null, undefined and false mean not yet. After 15 seconds says
 * what it waited for in vain.
 */
export async function until<T>(
  ask: () => Promise<T> | T,
  ms = 15_000,
): Promise<Exclude<NonNullable<Awaited<T>>, false>> {
  for (const end = performance.now() + ms; performance.now() < end; await delay(25)) {
    const answer = await ask();
    if (answer !== null && answer !== undefined && answer !== false) {
      return answer as Exclude<NonNullable<Awaited<T>>, false>;
    }
  }
  throw new Error(`waited ${ms} ms in vain for ${ask}`);
}
