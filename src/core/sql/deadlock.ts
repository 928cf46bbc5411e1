import { type Context, renewed } from '../context.ts';

const MOST_TRIES = 3;

/** Does `work` in a transaction, and once more from the beginning where the database ended it to resolve a deadlock. */
export async function againAfterDeadlock<T>(ctx: Context, work: (ctx: Context) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    // An entity manager of its own each time: the one before has changes of what was rolled back.
    const own = renewed(ctx);
    try {
      return await own.em.transactional(() => work(own));
    } catch (error) {
      const deadlock = error instanceof Error && 'code' in error && error.code === '40P01';
      if (!deadlock || tries === MOST_TRIES) throw error;
    }
  }
}
