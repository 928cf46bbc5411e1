import { PAGE_MAX } from '../../core/sql/page-size.ts';
import type { AnswerHead } from '../../http/locals.ts';
import { limitRate, type RateLimit } from '../../http/rate-limit.ts';

/** As many objects as a page of a REST list may hold are worth one request. */
const OBJECTS_PER_POINT = PAGE_MAX;

/** Counts what an operation of this cost is worth beyond a request, once however often it is called; throws RateLimited. */
export function chargeOnce(rateLimit: RateLimit, payer: string, head: AnswerHead): (cost: number) => void {
  let charged = false;
  return (cost) => {
    // What is worth more than a minute may still be asked for, by those who ask for nothing else in that minute.
    const points = Math.min(Math.ceil(cost / OBJECTS_PER_POINT), rateLimit.perMinute) - 1;
    if (charged || points <= 0) return;
    limitRate(rateLimit, payer, points, head);
    charged = true;
  };
}
