import { setTimeout as delay } from 'node:timers/promises';

/**
 * How long a test waits for a state before it fails. The budget is generous, so that a busy machine makes tests slower
 * without failing them; the timeout of a test or hook, which waits several times, is twice as long.
 */
export const BUDGET_MS = 60_000;

/** Waits `ms`, to shift the start of racing operations against each other; not a wait for a state. */
export const stagger = (ms: number): Promise<void> => delay(ms);

/** Polls until `ask` gives a value other than null, undefined and false; returns the value. */
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
