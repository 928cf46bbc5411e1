/** Work that comes due by itself. What it does may be done twice: a killed process's share is done again. */
export interface Job {
  /** Does what is due, until there is no more or the signal aborts; gives when more comes due (ISO 8601), if it knows. */
  run(signal: AbortSignal): Promise<string | null>;
  /** Resolves when nothing is under way any more; a job that leaves nothing behind its runs has none. */
  stop?(): Promise<void>;
}

interface Bounds {
  /** The longest batch. */
  most?: number;
  /** What each batch waits for, by the items that it has so far. */
  pause?: (items: readonly unknown[]) => Promise<unknown> | undefined;
}

/**
 * A function that does `work` for batches, one after another: items that come while a batch is worked on, or during its `pause`, make
 * the next one. Each call resolves, or fails, with the batch of its item.
 */
export function batched<T>(
  work: (items: readonly T[]) => Promise<void>,
  { most = Number.POSITIVE_INFINITY, pause = () => undefined }: Bounds = {},
): (item: T) => Promise<void> {
  let next: { items: T[]; done: Promise<void> } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  return (item) => {
    if (next && next.items.length < most) {
      next.items.push(item);
      return next.done;
    }
    const items = [item];
    const done = last
      .then(() => pause(items))
      .then(() => {
        if (next?.items === items) next = null;
        return work(items);
      });
    next = { items, done };
    last = done.catch(() => {});
    return done;
  };
}
