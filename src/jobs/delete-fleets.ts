import type { Context } from '../core/context.ts';
import { deleteSome, FROM_THE_START, fleetsBeingDeleted } from '../core/operations/delete-fleets.ts';
import type { Steps } from './backoff.ts';
import type { Job } from './job.ts';

/** Deletes what large fleets leave behind: a step of each in turn, so that none waits for another. */
export function deleteFleets(open: () => Context, withBackoff: Steps): Job {
  return {
    async run(signal) {
      const ctx = open();
      /** How far each is. */
      const places = new Map<string, string>();
      for (let left = true; left && !signal.aborted; ) {
        left = false;
        for (const fleet of await fleetsBeingDeleted(ctx)) {
          if (signal.aborted) break;
          const after = await withBackoff(() => deleteSome(ctx, fleet, places.get(fleet.id) ?? FROM_THE_START));
          if (after === null) continue;
          left = true;
          places.set(fleet.id, after);
        }
      }
      return null;
    },
  };
}
