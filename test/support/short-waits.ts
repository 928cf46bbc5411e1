/** `node:timers/promises`, for tests in which time passes by a clock of theirs: what waits, waits no longer than it must. */
export function shortWaits(timers: typeof import('node:timers/promises')) {
  const setTimeout = (ms?: number, ...rest: []) =>
    timers.setTimeout(rest.length > 0 ? ms : Math.min(ms ?? 1, 1), ...rest);
  return { ...timers, setTimeout };
}
