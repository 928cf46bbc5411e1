/**
 * Longer than this, nobody holds the event loop without letting others have their turn. Not shorter: what several parents
 * read of one kind in a turn is one statement.
 */
const LONG_MS = 40;

/** What this thread has worked: on a busy machine, a turn in which it did little may take long, too. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** A turn of the event loop: when work in it was first looked at, and its end. */
let turn: { began: number; end: Promise<void> } | null = null;

/** The end of this turn of the event loop, where work has gone on for long in it; null while it may go on. */
function endOfLongTurn(): Promise<void> | null {
  turn ??= {
    began: workedMs(),
    end: new Promise((resolve) =>
      setImmediate(() => {
        turn = null;
        resolve();
      }),
    ),
  };
  return workedMs() - turn.began > LONG_MS ? turn.end : null;
}

/** Whether work that can wait should do so. */
export const isLongTurn = (): boolean => endOfLongTurn() !== null;

/** Who waits, in the order in which they came: if all went on at once, they would make one long turn again. */
const waiting: (() => void)[] = [];

/** Resolves when the caller may do a bit of work, of a millisecond at most. */
export function turnForMore(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  if (waiting.length === 1) void letIn();
  return promise;
}

/** What one does who was let in is a few promises away. */
const PROMISES = 5;

async function letIn(): Promise<void> {
  while (waiting.length > 0) {
    await endOfLongTurn();
    waiting[0]?.();
    for (let at = 0; at < PROMISES; at++) await null;
    waiting.shift();
  }
}
