import { performance } from 'node:perf_hooks';

/** So little of the time is the process at work when nobody needs it. */
const IDLE = 0.05;
/** Seen for so long. */
const LOOK_MS = 5_000;
/** After so much work, room for what has gone may be worth giving back; the start itself is more. */
const WORTH_MS = 1_000;

/**
 * Gives room that the start, or much work, has taken back to the system, as soon as the process has nothing to do: V8 keeps it
 * otherwise until memory is short, a quarter of what an idle process holds. It takes some 50 ms. Node offers it where it was
 * started with `--expose-gc`; without that flag the room is kept.
 */
export function giveBackWhenIdle(): void {
  const { gc } = globalThis;
  if (!gc) return;
  let before = performance.eventLoopUtilization();
  let worked = WORTH_MS;
  const look = () => {
    const now = performance.eventLoopUtilization();
    const { active, utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    worked += active;
    if (utilization > IDLE || worked < WORTH_MS) return;
    gc({ type: 'major', flavor: 'last-resort', execution: 'sync' });
    worked = 0;
  };
  setInterval(look, LOOK_MS).unref();
}
