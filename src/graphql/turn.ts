/** Longer than this, nobody holds the event loop without letting others have their turn. */
const LONG_MS = 15;

/** A turn of the event loop: when work in it was first looked at, and its end. */
let turn: { began: number; end: Promise<void> } | null = null;

/** The end of this turn of the event loop, for work that has gone on for long in it; null while it may go on. */
export function endOfLongTurn(): Promise<void> | null {
  turn ??= {
    began: performance.now(),
    end: new Promise((resolve) =>
      setImmediate(() => {
        turn = null;
        resolve();
      }),
    ),
  };
  return performance.now() - turn.began > LONG_MS ? turn.end : null;
}
