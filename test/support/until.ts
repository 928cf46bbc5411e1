import { setTimeout as delay } from 'node:timers/promises';

/** Asks until there is an answer other than null, and gives it; after 15 seconds says what it waited for in vain. */
export async function until<T>(ask: () => Promise<T | null> | T | null, ms = 15_000): Promise<T> {
  for (const end = Date.now() + ms; Date.now() < end; await delay(25)) {
    const answer = await ask();
    if (answer !== null) return answer;
  }
  throw new Error(`waited ${ms} ms in vain for ${ask}`);
}
