import type { Context } from '../core/context.ts';
import { trimEvents } from '../core/events/trim-events.ts';
import { failAbandonedImports, trimImports } from '../core/imports/run.ts';
import { deleteSome, fleetsBeingDeleted } from '../core/operations/delete-fleets.ts';
import { foldTallies, forgetAnswers, forgetRateUse } from '../core/operations/upkeep.ts';
import { refreshStatistics } from '../core/statistics.ts';
import { trimDeliveries } from '../core/webhooks/trim-deliveries.ts';
import type { Job, Steps } from './job.ts';

/** Ends uploads whose process has gone, keeps statistics and tallies, and forgets all that is past its time. */
export function upkeep(open: () => Context): Job {
  return {
    async run(signal) {
      const ctx = open();
      await failAbandonedImports(ctx);
      await foldTallies(ctx);
      await forgetRateUse(ctx);
      while (!signal.aborted && (await forgetAnswers(ctx)));
      while (!signal.aborted && (await trimImports(ctx)));
      while (!signal.aborted && (await trimDeliveries(ctx)));
      while (!signal.aborted && (await trimEvents(ctx)));
      await refreshStatistics(ctx);
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
