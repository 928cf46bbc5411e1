import { setImmediate } from 'node:timers/promises';
import { onTestFinished, vi } from 'vitest';

/** Request deadlines that pass when a test says so, not by the machine's clock. */
export interface Deadlines {
  /** Lets the deadlines of all running requests pass. */
  pass(): void;
  /** Deadlines of all requests so far, in ms. */
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

/** Turns the event loop until everything that is under way within this process has arrived. */
export async function takeTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await setImmediate();
}
