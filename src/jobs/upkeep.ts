import type { Context } from '../core/context.ts';
import { failAbandonedImports } from '../core/import-vehicles.ts';
import { foldTallies, forgetAnswers } from '../core/upkeep.ts';
import type { Job } from './job.ts';

/** Keeps the house: ends uploads whose process has gone, folds tallies, forgets old answers. */
export function upkeep(open: () => Context): Job {
  return {
    kind: 'upkeep',
    async run() {
      const ctx = open();
      await failAbandonedImports(ctx);
      await foldTallies(ctx);
      await forgetAnswers(ctx);
      return null;
    },
    stop: async () => {},
  };
}
