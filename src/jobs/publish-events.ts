import { setTimeout as delay } from 'node:timers/promises';
import type { DueCompanies } from '../core/companies/schedule.ts';
import { contractSchedule, recordContractPeriods } from '../core/contracts/contracts.ts';
import { findCompaniesToPublish, publishEventsOf } from '../core/events/event-log.ts';
import { type Job, stepOfEach, type Tools } from './job.ts';

const PAUSE_MS = 40;
/** Companies whose contracts start and end before events are published again. */
const PERIODS_AT_ONCE = 20;

/** Puts recorded events into the log, and records those that the clock brings about: contracts start and end. */
export function publish(tools: Tools): Job {
  const recordPeriods = stepOfEach(tools, recordContractPeriods);
  const publishEvents = stepOfEach(tools, async (ctx, company) => (await publishEventsOf(ctx, company)).more);
  /** Companies take turns in the order of their names; the one after this has the next. */
  let last = '';
  return {
    async run(signal) {
      const ctx = tools.open();
      let periods: DueCompanies = { companies: [], next: null };
      // Whether this pass over the companies did anything; one that an earlier run began is no whole pass.
      let active = last !== '';
      for (let more = false; ; ) {
        if (periods.companies.length === 0) periods = await contractSchedule.companiesDue(ctx, periods.last);
        // A share of a few companies, so that no company's events wait for all contracts that start with the year.
        const recorded = await recordPeriods(ctx, periods.companies.splice(0, PERIODS_AT_ONCE), signal);
        const found = await findCompaniesToPublish(ctx, last);
        const published = await publishEvents(ctx, found.companies, signal);
        const left = periods.companies.length > 0 || periods.last !== undefined;
        more = published.more || more;
        active ||= left || recorded.done + published.done > 0;
        last = found.last;
        if (signal.aborted || (last === '' && !active)) return periods.next;
        if (last !== '') continue;
        // Waits so that events that come one by one are published together, at a fraction of the cost. Then it looks again:
        // a process that held the log of a company may have missed the latest.
        if (!more && !left) await delay(PAUSE_MS);
        more = false;
        active = false;
      }
    },
  };
}
