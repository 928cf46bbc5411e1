import type { Context } from '../core/context.ts';
import { failAbandonedImports, trimImports } from '../core/imports/run.ts';
import { deleteFleetStep, findFleetsInDeletion } from '../core/operations/delete-fleets.ts';
import { deleteExpiredAnswers, deleteOldRateLimitUse, sumUpTallies, trimEvents } from '../core/operations/upkeep.ts';
import { refreshStatistics } from '../core/statistics.ts';
import { trimDeliveries } from '../core/webhooks/trim-deliveries.ts';
import { inTurns, type Job, type Tools } from './job.ts';

/** Each gives whether more is left to do. */
const steps: readonly ((ctx: Context) => Promise<unknown>)[] = [
  failAbandonedImports,
  sumUpTallies,
  deleteOldRateLimitUse,
  deleteExpiredAnswers,
  trimImports,
  trimDeliveries,
  trimEvents,
  (ctx) => refreshStatistics(ctx),
];

/** Ends uploads whose process has ended, keeps statistics and tallies, and deletes what is past its time. */
export function upkeep({ open }: Pick<Tools, 'open'>): Job {
  return {
    async run(signal) {
      const ctx = open();
      let failure: unknown = null;
      for (const step of steps) {
        try {
          while (!signal.aborted && (await step(ctx)));
        } catch (error) {
          // The other steps do not depend on this one.
          failure ??= error;
        }
      }
      if (failure !== null) throw failure;
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
        () => findFleetsInDeletion(ctx),
        async (fleet) => {
          const after = await withBackoff(() => deleteFleetStep(ctx, fleet, places.get(fleet.id)));
          if (after !== null) places.set(fleet.id, after);
          return after !== null;
        },
      );
    },
  };
}
