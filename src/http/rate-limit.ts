import type { Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { RateLimited } from '../core/errors.ts';

/** Requests each company may make per minute; null is no limit. */
export type RateLimit = RateLimiterMemory | null;

const WINDOW_SECONDS = 60;

export const openRateLimit = (perMinute: number): RateLimit =>
  perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS }) : null;

/** Counts one request of `who` and says in the headers what is left; throws RateLimited. */
export async function limitRate(limit: RateLimit, who: string, res: Response): Promise<void> {
  if (!limit) return;
  const use = await limit.consume(who).catch((refused: unknown) => refused);
  if (!(use instanceof RateLimiterRes)) throw use;
  const seconds = Math.max(1, Math.ceil(use.msBeforeNext / 1000));
  res.set('RateLimit-Policy', `"company";q=${limit.points};w=${WINDOW_SECONDS}`);
  res.set('RateLimit', `"company";r=${Math.max(0, use.remainingPoints)};t=${seconds}`);
  if (use.consumedPoints > limit.points) throw new RateLimited(seconds);
}
