import type { Context } from '../core/context.ts';
import { nextContractDue, publishEvents, recordContractPeriods } from '../core/publish-events.ts';
import type { Job } from './job.ts';

/** Puts recorded events into the log, and records those that the clock brings about: contracts start and end. */
export function publish(open: () => Context): Job {
  return {
    kind: 'event',
    async run(signal) {
      const ctx = open();
      while (!signal.aborted && (await recordContractPeriods(ctx)));
      while (!signal.aborted && (await publishEvents(ctx)));
      return nextContractDue(ctx);
    },
    stop: async () => {},
  };
}
