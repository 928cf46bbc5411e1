import { type Activator, type Reason, reason, type WishAnswer } from '../../manufacturers/index.ts';
import type { ClaimedProgram } from './due-activations.ts';

/** Without its provider a program can be neither begun nor ended. */
export const PROVIDER_GONE_SECONDS = 3600;
/** A contract of another company that has begun is planned by then. */
const PLANNED_SECONDS = 60;
/** No vehicle is looked at twice within so many seconds, unless its provider decides sooner. */
const REST_SECONDS = 30;

const ENDED_HERE = { outcome: 'STANDS', state: 'ENDED', reason: null, raw: null } as const;
export const waits = (retryAfter: number, reason: Reason | null = null): WishAnswer => ({
  outcome: 'NO_ANSWER',
  reason,
  retryAfter,
  asked: false,
  raw: null,
});
const forTheNext = reason(
  'WAITING_FOR_GAP',
  'Another contract that needs the same begins soon, so that it is not ended.',
);

/** The answer about a program that its provider is not asked about now; null: it is. */
export function answerUnasked(program: ClaimedProgram, { lookDelays }: Activator, now: number): WishAnswer | null {
  const { wanted, asked, renewed, begins, shared, looked } = program;
  if (!wanted && (!asked || shared)) return ENDED_HERE;
  if (!wanted && begins !== null)
    return waits(Math.max(PLANNED_SECONDS, (Date.parse(begins) - now) / 1000), forTheNext);
  const rest =
    Math.min(REST_SECONDS, lookDelays[0] ?? 0) - (looked === null ? REST_SECONDS : (now - Date.parse(looked)) / 1000);
  return asked && !renewed && rest > 0 ? waits(rest) : null;
}
