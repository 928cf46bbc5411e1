import { setImmediate } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** Deadlines of requests that pass when a test says so, and never by the time that a machine takes. */
export interface Deadlines {
  /** Lets the deadlines of all requests under way pass. */
  pass(): void;
  /** How long the requests so far were given, in ms. */
  given: number[];
}

/** Holds all deadlines until the test ends. */
export function holdDeadlines(): Deadlines {
  const held = new Set<AbortController>();
  const given: number[] = [];
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    given.push(ms);
    const deadline = new AbortController();
    held.add(deadline);
    return deadline.signal;
  });
  onTestFinished(() => timeout.mockRestore());
  return {
    given,
    pass() {
      for (const deadline of held) deadline.abort(new DOMException('The deadline has passed.', 'TimeoutError'));
      held.clear();
    },
  };
}

/** Lets arrive what is under way within this process, by turns of the event loop. */
export async function takeTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await setImmediate();
}
