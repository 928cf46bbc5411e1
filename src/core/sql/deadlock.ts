import { type Context, renewed } from '../context.ts';

const MOST_TRIES = 3;

/** Thrown where another has changed what the work went by: it begins again. */
export class ChangedMeanwhile extends Error {}

/** Does `work` in a transaction, and again from the beginning after a deadlock, and after ChangedMeanwhile. */
export async function againAfterDeadlock<T>(ctx: Context, work: (ctx: Context) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    // An entity manager of its own each time: the one before has changes of what was rolled back.
    const own = renewed(ctx);
    try {
      return await own.em.transactional(() => work(own));
    } catch (error) {
      const deadlock = error instanceof Error && 'code' in error && error.code === '40P01';
      // Each change is another's success, so there is an end to them.
      if (error instanceof ChangedMeanwhile) continue;
      if (!deadlock || tries === MOST_TRIES) throw error;
    }
  }
}
