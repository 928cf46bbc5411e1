import type { Context } from '../core/context.ts';
import { failAbandonedImports, trimImports } from '../core/imports/run.ts';
import { deleteSome, fleetsBeingDeleted } from '../core/operations/delete-fleets.ts';
import { foldTallies, forgetAnswers, forgetRateUse, trimEvents } from '../core/operations/upkeep.ts';
import { refreshStatistics } from '../core/statistics.ts';
import { trimDeliveries } from '../core/webhooks/trim-deliveries.ts';
import { inTurns, type Job, type Tools } from './job.ts';

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
export function upkeep({ open }: Pick<Tools, 'open'>): Job {
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

/** Deletes what large fleets leave behind. */
export function deleteFleets({ open, withBackoff }: Tools): Job {
  return {
    run(signal) {
      const ctx = open();
      const places = new Map<string, string>();
      return inTurns(
        signal,
        () => fleetsBeingDeleted(ctx),
        async (fleet) => {
          const after = await withBackoff(() => deleteSome(ctx, fleet, places.get(fleet.id)));
          if (after !== null) places.set(fleet.id, after);
          return after !== null;
        },
      );
    },
  };
}
