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
  deleteOldRateLimitUse,
  deleteExpiredAnswers,
  trimImports,
  trimDeliveries,
  trimEvents,
  (ctx) => refreshStatistics(ctx),
];

/** Ends uploads whose process has ended, keeps statistics and tallies, and deletes what is past its time. */
export function upkeep({ open, withBackoff, onError }: Tools): Job {
  let allSummedUpAt = Number.NEGATIVE_INFINITY;
  /** At the start and each hour all companies, since a minute without upkeep, or with many events, leaves some out. */
  function sumUp(ctx: Context) {
    const all = performance.now() - allSummedUpAt > 3_600_000;
    if (all) allSummedUpAt = performance.now();
    return sumUpTallies(ctx, { all });
  }
  return {
    run(signal) {
      const ctx = open();
      const left = new Set([sumUp, ...steps]);
      return inTurns(
        signal,
        async () => [...left],
        async (step) => {
          // The other steps do not depend on one that fails.
          const more = await withBackoff(() => step(ctx)).catch(onError);
          if (!more) left.delete(step);
          return Boolean(more);
        },
      );
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
