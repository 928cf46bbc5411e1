import type { Context } from '../core/context.ts';
import { TOLD_EVERY_SECONDS, tellOfProviders } from '../core/vehicles/providers.ts';
import type { Job } from './job.ts';

/** Lets processes that ask nobody know how the providers fare. */
export function tellProviders(open: () => Context): Job {
  let told = false;
  return {
    async run() {
      const ctx = open();
      told = tellOfProviders(ctx, told);
      return new Date(ctx.now().getTime() + TOLD_EVERY_SECONDS * 1000).toISOString();
    },
  };
}
