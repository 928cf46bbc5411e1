import type { Context } from '../core/context.ts';
import { failAbandonedImports, trimImports } from '../core/imports/import-run.ts';
import { returnStagedRoom } from '../core/imports/staged-room.ts';
import { deleteFleetStep, findFleetsInDeletion } from '../core/operations/delete-fleets.ts';
import { deleteExpiredAnswers, mendIndex, sumUpTallies, trimEvents } from '../core/operations/upkeep.ts';
import { refreshStatistics } from '../core/sql/statistics.ts';
import { reaskUnsupported } from '../core/vehicles/due-vehicles.ts';
import { trimDeliveries } from '../core/webhooks/trim-deliveries.ts';
import { inTurns, type Job, type Tools } from './job.ts';

/** The steps of upkeep, each of which gives whether more is left to do. */
const steps: readonly ((ctx: Context, signal: AbortSignal) => Promise<unknown>)[] = [
  sumUpTallies,
  failAbandonedImports,
  returnStagedRoom,
  deleteExpiredAnswers,
  trimImports,
  trimDeliveries,
  trimEvents,
  (ctx) => refreshStatistics(ctx),
];

/** What changes rows of all companies waits while one moves: its rows change in another installation, too. */
async function unlessMoving(ctx: Context, step: (typeof steps)[number], signal: AbortSignal): Promise<unknown> {
  const { fence } = ctx.services;
  if (!fence) return step(ctx, signal);
  return fence.isMoving ? null : fence.run('', () => step(ctx, signal));
}

const HOUR_MS = 3_600_000;
/** Indexes are checked when the first requests are over, and each day. */
const FIRST_CHECK_MS = 60_000;

/** Ends uploads whose process has ended, keeps statistics and tallies, and deletes what is past its time; due-vehicles.ts has the rest. */
export function upkeep({ open, withBackoff, onError }: Tools): Job {
  let wholeAt = Number.NEGATIVE_INFINITY;
  let checkAt = performance.now() + FIRST_CHECK_MS;
  return {
    async run(signal) {
      const ctx = open();
      // At the start and each hour, since others may still add vehicles by earlier settings after a start.
      const all = performance.now() - wholeAt > HOUR_MS;
      if (all) wholeAt = performance.now();
      const isCheckDue = performance.now() >= checkAt;
      if (isCheckDue) checkAt = performance.now() + 24 * HOUR_MS;
      const indexes = isCheckDue ? ((await ctx.services.database.indexes?.names()) ?? []) : [];
      const checks = indexes.map((name) => () => mendIndex(ctx, name));
      for (let left = [...(all ? [reaskUnsupported] : []), ...steps, ...checks]; left.length > 0; ) {
        const more: typeof left = [];
        for (const step of left) {
          // The other steps do not depend on one that fails.
          if (!signal.aborted && (await withBackoff(() => unlessMoving(ctx, step, signal)).catch(onError)))
            more.push(step);
        }
        left = more;
      }
      return null;
    },
  };
}

/** Deletes what large fleets leave behind. */
export function deleteFleets(tools: Tools): Job {
  const places = new Map<string, string>();
  return inTurns(tools, findFleetsInDeletion, async (ctx, fleet) => {
    const after = await deleteFleetStep(ctx, fleet, places.get(fleet.id));
    if (after === null) places.delete(fleet.id);
    else places.set(fleet.id, after);
    return after !== null;
  });
}
