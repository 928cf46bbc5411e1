import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../core/context.ts';
import { recordContractPeriods } from '../core/contracts/contract-periods.ts';
import { companiesToPublish, publishEventsOf } from '../core/events/publish-events.ts';
import { companiesDue } from '../core/operations/due-companies.ts';
import type { Steps } from './backoff.ts';
import type { Job } from './job.ts';

const PAUSE_MS = 40;

/** Puts recorded events into the log, and records those that the clock brings about: contracts start and end. */
export function publish(open: () => Context, withBackoff: Steps): Job {
  let last = '';
  /** Publishes some of each company, beginning after the last one that had its turn; gives whether any may have more. */
  async function turn(ctx: Context, companies: readonly string[], signal: AbortSignal) {
    const inTurn = [
      ...companies.filter((company) => company > last),
      ...companies.filter((company) => company <= last),
    ];
    let more = false;
    for (const company of inTurn) {
      if (signal.aborted) break;
      last = company;
      more = (await publishEventsOf(ctx, company)).more || more;
    }
    return more;
  }
  return {
    async run(signal) {
      const ctx = open();
      for (;;) {
        // A share of each company, so that nobody's events wait for all contracts that start with the year.
        const periods = await companiesDue(ctx, 'contract');
        for (const company of periods.companies) {
          if (signal.aborted) break;
          await recordContractPeriods(ctx, company);
        }
        const companies = await companiesToPublish(ctx);
        if (signal.aborted || companies.length + periods.companies.length === 0) return periods.next;
        const more = await withBackoff(() => turn(ctx, companies, signal));
        // Events that come one by one, under load, wait for one another a moment: together they cost a fraction. Nor is
        // this the end for those whose company somebody else has locked, who may not have seen them.
        if (!more) await delay(PAUSE_MS);
      }
    },
  };
}
