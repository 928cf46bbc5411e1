import { Unavailable } from '../../core/errors.ts';
import { localsOf } from '../../http/locals.ts';
import type { GraphqlContext } from './context.ts';

export type MaybePromise<T> = T | Promise<T>;

/**
 * Waits for an operation no longer than LIMIT_GRAPHQL_SECONDS; throws Unavailable then, and CostExceeded for an answer that
 * turned out too large. Its statements end by the database's own limit. Uploads may take as long as they arrive.
 */
export function inTime<T>(context: GraphqlContext, work: MaybePromise<T>): MaybePromise<T> {
  const { budget, ctx, res } = context;
  const checked = (result: T): T => {
    if (budget.domainError) throw budget.domainError;
    return result;
  };
  if (!(work instanceof Promise)) return checked(work);
  if (localsOf(res).upload) return work.then(checked);
  const seconds = ctx.services.config.LIMIT_GRAPHQL_SECONDS;
  // One promise and one timer: a race and a `finally` make several more for each request.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const domainError = new Unavailable(
        `The operation took longer than ${seconds} s. A change that it was making may still be made.`,
      );
      // What goes on of it ends, too.
      budget.stop(domainError);
      reject(domainError);
    }, seconds * 1000);
    const settle = (end: () => void) => {
      clearTimeout(timer);
      end();
    };
    work.then(
      (result) => settle(() => (budget.domainError ? reject(budget.domainError) : resolve(result))),
      (error) => settle(() => reject(error)),
    );
  });
}
