import { Unavailable } from '../core/errors.ts';
import type { FaceContext } from './context.ts';

export type MaybePromise<T> = T | Promise<T>;

/**
 * Waits for an operation no longer than LIMIT_GRAPHQL_SECONDS; throws Unavailable then. Its statements end by the
 * database's own limit. Uploads may take as long as they arrive.
 */
export function inTime<T>({ ctx, res }: FaceContext, work: MaybePromise<T>): MaybePromise<T> {
  if (!(work instanceof Promise) || res.locals.upload) return work;
  const seconds = ctx.services.config.LIMIT_GRAPHQL_SECONDS;
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(
      new Unavailable(`The operation took longer than ${seconds} s. A change that it was making may still be made.`),
    );
  }, seconds * 1000);
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
