import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../core/context.ts';
import { contractSchedule, recordContractPeriods } from '../core/contracts/contracts.ts';
import { findCompaniesToPublish, publishEventsOf } from '../core/events/log.ts';
import type { Job, Tools } from './job.ts';

const PAUSE_MS = 40;

/** Puts recorded events into the log, and records those that the clock brings about: contracts start and end. */
export function publish({ open, withBackoff }: Pick<Tools, 'open' | 'withBackoff'>): Job {
  /** Companies take turns in the order of their names; the one after this has the next. */
  let last = '';
  async function turn(ctx: Context, companies: readonly string[], signal: AbortSignal) {
    let more = false;
    for (const company of companies) {
      if (signal.aborted) break;
      last = company;
      more = (await publishEventsOf(ctx, company)).more || more;
    }
    return more;
  }
  return {
    async run(signal) {
      const ctx = open();
      for (let more = false; ; ) {
        // A share of each company, so that no company's events wait for all contracts that start with the year.
        const periods = await contractSchedule.companiesDue(ctx);
        for (const company of periods.companies) {
          if (signal.aborted) break;
          await recordContractPeriods(ctx, company);
        }
        const isFirst = last === '';
        const found = await findCompaniesToPublish(ctx, last);
        const nothing = isFirst && found.companies.length + periods.companies.length === 0;
        if (signal.aborted || nothing) return periods.next;
        more = (await withBackoff(() => turn(ctx, found.companies, signal))) || more;
        last = found.last;
        if (last !== '') continue;
        // Waits so that events that come one by one are published together, at a fraction of the cost. Then it looks again:
        // a process that held the log of a company may have missed the latest.
        if (!more) await delay(PAUSE_MS);
        more = false;
      }
    },
  };
}
