import type { Context } from '../core/context.ts';
import { trimEvents } from '../core/events/trim-events.ts';
import { failAbandonedImports, trimImports } from '../core/imports/run.ts';
import { deleteSome, fleetsBeingDeleted } from '../core/operations/delete-fleets.ts';
import { foldTallies, forgetAnswers, forgetRateUse } from '../core/operations/upkeep.ts';
import { refreshStatistics } from '../core/statistics.ts';
import { trimDeliveries } from '../core/webhooks/trim-deliveries.ts';
import type { Job, Steps } from './job.ts';

/** Each gives whether there is more to do. */
const steps: readonly ((ctx: Context) => Promise<unknown>)[] = [
  failAbandonedImports,
  foldTallies,
  forgetRateUse,
  forgetAnswers,
  trimImports,
  trimDeliveries,
  trimEvents,
  (ctx) => refreshStatistics(ctx),
];

/** Ends uploads whose process has gone, keeps statistics and tallies, and forgets all that is past its time. */
export function upkeep(open: () => Context): Job {
  return {
    async run(signal) {
      const ctx = open();
      const failures: unknown[] = [];
      for (const step of steps) {
        try {
          while (!signal.aborted && (await step(ctx)));
        } catch (error) {
          // The others have nothing to do with it.
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
      return null;
    },
  };
}

/** Deletes what large fleets leave behind: a step of each in turn, so that none waits for another. */
export function deleteFleets(open: () => Context, withBackoff: Steps): Job {
  return {
    async run(signal) {
      const ctx = open();
      const places = new Map<string, string>();
      for (let left = true; left && !signal.aborted; ) {
        left = false;
        for (const fleet of await fleetsBeingDeleted(ctx)) {
          if (signal.aborted) break;
          const after = await withBackoff(() => deleteSome(ctx, fleet, places.get(fleet.id)));
          if (after === null) continue;
          left = true;
          places.set(fleet.id, after);
        }
      }
      return null;
    },
  };
}
