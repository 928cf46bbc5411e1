import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../core/context.ts';
import {
  nextContractDue,
  PUBLISHED_AT_ONCE,
  publishEvents,
  recordContractPeriods,
} from '../core/events/publish-events.ts';
import type { Job } from './job.ts';

const PAUSE_MS = 40;

/** Puts recorded events into the log, and records those that the clock brings about: contracts start and end. */
export function publish(open: () => Context): Job {
  return {
    kind: 'event',
    async run(signal) {
      const ctx = open();
      while (!signal.aborted && (await recordContractPeriods(ctx)));
      // Events that come one by one, under load, wait for one another a moment: together they cost a fraction.
      for (let published = 1; published > 0 && !signal.aborted; ) {
        published = await publishEvents(ctx);
        if (published > 0 && published < PUBLISHED_AT_ONCE) await delay(PAUSE_MS);
      }
      return nextContractDue(ctx);
    },
    stop: async () => {},
  };
}
