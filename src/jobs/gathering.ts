/**
 * A function that does `work` with what it is called with, one call after another: what comes meanwhile, and during `pause`
 * before it, gathers for the next, up to `most`. Each call resolves, or fails, with the work that took its item.
 */
export function gathering<T>(
  work: (items: readonly T[]) => Promise<void>,
  {
    most = Number.POSITIVE_INFINITY,
    pause = () => undefined,
  }: { most?: number; pause?: (items: readonly T[]) => Promise<unknown> | undefined } = {},
): (item: T) => Promise<void> {
  let next: { items: T[]; done: Promise<void> } | null = null;
  let underWay: Promise<unknown> = Promise.resolve();
  return (item) => {
    if (next && next.items.length < most) {
      next.items.push(item);
      return next.done;
    }
    const items = [item];
    const done = underWay
      .then(() => pause(items))
      .then(() => {
        if (next?.items === items) next = null;
        return work(items);
      });
    next = { items, done };
    underWay = done.catch(() => {});
    return done;
  };
}
