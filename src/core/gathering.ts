import { setTimeout as delay } from 'node:timers/promises';

interface Bounds {
  /** So many items at most are worked on together. */
  most?: number;
  /** What is waited for before each piece of work, by what there is to do. */
  pause?: (items: readonly unknown[]) => Promise<unknown> | undefined;
  /** So many pieces of work at a time. */
  atOnce?: number;
  /** How long a piece is waited for, in ms; otherwise until it has ended. */
  patience?: number;
}

/**
 * A function that does `work` with what it is called with, one call after another, or `atOnce`: what comes meanwhile, and during
 * `pause` before it, gathers for the next, up to `most`. Each call resolves, or fails, with the work that took its item.
 */
export function gathering<T>(
  work: (items: readonly T[]) => Promise<void>,
  { most = Number.POSITIVE_INFINITY, pause = () => undefined, atOnce = 1, patience }: Bounds = {},
): (item: T) => Promise<void> {
  let next: { items: T[]; done: Promise<void> } | null = null;
  const underWay: Promise<unknown>[] = Array.from({ length: atOnce }, () => Promise.resolve());
  return (item) => {
    if (next && next.items.length < most) {
      next.items.push(item);
      return next.done;
    }
    const items = [item];
    const begun = (underWay.shift() ?? Promise.resolve()).then(() => pause(items));
    const done = begun.then(() => {
      if (next?.items === items) next = null;
      return work(items);
    });
    next = { items, done };
    const ended = done.catch(() => {});
    const waitedFor = () => delay(patience, undefined, { ref: false });
    underWay.push(patience === undefined ? ended : Promise.race([ended, begun.then(waitedFor, () => {})]));
    return done;
  };
}
