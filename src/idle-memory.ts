import { performance } from 'node:perf_hooks';

/** The time after the start at which its work is done. */
const LOOK_MS = 5_000;
/** A process that was at work for more of the time is needed already. */
const BUSY = 0.2;

/**
 * Gives the room that only the start needed back to the system, unless there is work already: V8 keeps it otherwise until memory
 * is short, a quarter of what an idle process holds. It takes some 50 ms, once: later it would also drop compiled code that is
 * about to be needed. Node offers it where it was started with `--expose-gc`; without that flag the room is kept.
 */
export function giveBackAfterStart(): void {
  const { gc } = globalThis;
  if (!gc) return;
  const start = performance.eventLoopUtilization();
  setTimeout(() => {
    const { utilization } = performance.eventLoopUtilization(start);
    if (utilization < BUSY) gc({ type: 'major', flavor: 'last-resort', execution: 'sync' });
  }, LOOK_MS).unref();
}
