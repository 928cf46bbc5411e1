import type { Context } from '../core/context.ts';
import { TOLD_EVERY_SECONDS, tellOfProviders } from '../core/vehicles/providers.ts';
import type { Job } from './job.ts';

/** Lets processes that ask nobody know how the providers fare. */
export function tellProviders(open: () => Context): Job {
  return {
    async run() {
      const ctx = open();
      tellOfProviders(ctx);
      return new Date(ctx.now().getTime() + TOLD_EVERY_SECONDS * 1000).toISOString();
    },
  };
}
