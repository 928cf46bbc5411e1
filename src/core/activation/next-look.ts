import { crc32 } from 'node:zlib';
import { type Manufacturers, notAsked, reason, SANDBOX, type WishAnswer } from '../../manufacturers/index.ts';
import type { ClaimedProgram } from './due-activations.ts';

export type AskedProgram = { program: ClaimedProgram; answer: WishAnswer };

/** Active programs are looked at again, since manufacturers end some by themselves. */
const DAY_SECONDS = 24 * 3600;
/** What was ended is looked at so often: a manufacturer may still carry out what it did not answer, and its list may lag behind. */
const LOOKS_AFTER_END = [300, 3600, DAY_SECONDS];
/** Looks after which a fault that was told in passing stands. */
const LOOKS_IN_DOUBT = 4;
/** Delays without an answer grow as 1, 2, 4 … seconds, up to a quarter of an hour, each spread by half, in groups. */
const RETRY_CAP_SECONDS = 900;
const GROUPS = 4;

/** Seconds until the manufacturer is asked next; null where that would change nothing. */
export function secondsToNext({ program, answer }: AskedProgram, manufacturers: Manufacturers, now: number) {
  const { looks, faults, state, endedAt } = program;
  const schedule = manufacturers.activatorOf(program.provider)?.lookDelays ?? [];
  /** From 0 to 1, and the same for all programs of a vehicle: one look answers all of them. */
  const share = crc32(program.vin) / 2 ** 32;
  const spread = 1 + share / 10;
  if (answer.outcome === 'NO_ANSWER') {
    // In groups: vehicles that came due one by one would each be a request.
    const group = Math.floor(share * GROUPS) / GROUPS;
    const backoff = Math.min(RETRY_CAP_SECONDS, 2 ** Math.min(faults, 20)) * (0.75 + group / 2);
    return Math.max(answer.retryAfter ?? 0, answer.asked ? backoff : 1) * (1 + group / 10);
  }
  const before = answer.state === state ? looks : 0;
  const next = (of: readonly number[], past: number | null = of.at(-1) ?? RETRY_CAP_SECONDS) => {
    const seconds = of[before] ?? past;
    return seconds === null ? null : seconds * spread;
  };
  /** An end that was ordered may still be carried out. */
  const mayEnd = endedAt !== null && now - endedAt < DAY_SECONDS * 1000;
  switch (answer.state) {
    case 'ACTIVE':
      return mayEnd ? next(LOOKS_AFTER_END) : DAY_SECONDS * spread;
    case 'ENDED':
      // The sandbox carries out nothing late, and what it invented is to go.
      if (!program.asked || program.provider === SANDBOX) return null;
      // The company that wants it now must know of the end, and of what is still under way.
      return program.shared && program.state === 'ACTIVE' && !mayEnd ? null : next(LOOKS_AFTER_END, null);
    case 'FAILED':
      return answer.inDoubt ? next(schedule.slice(0, LOOKS_IN_DOUBT), null) : null;
    case 'REJECTED':
      return null;
    default:
      return next(schedule);
  }
}

/** Without its provider a program can be neither begun nor ended. */
const PROVIDER_GONE_SECONDS = 3600;
/** A contract of another company that has begun is planned by then. */
const PLANNED_SECONDS = 60;
/** No vehicle is looked at twice within so many seconds, unless its provider decides sooner. */
const REST_SECONDS = 30;

const ENDED_HERE = { outcome: 'STANDS', state: 'ENDED', reason: null, raw: null } as const;
const forTheNext = reason(
  'WAITING_FOR_GAP',
  'Another contract that needs the same begins soon, so that it is not ended.',
);

/** The answer about a program that its provider is not asked about now; null: it is. */
export function answerUnasked(program: ClaimedProgram, manufacturers: Manufacturers, now: number): WishAnswer | null {
  const { wanted, asked, renewed, state, begins, shared, vehicleLookedAt } = program;
  const activator = manufacturers.activatorOf(program.provider);
  // What had ended before its provider went is forgotten as its looks would be over.
  if (!activator)
    return !wanted && state === 'ENDED' ? ENDED_HERE : notAsked(PROVIDER_GONE_SECONDS, manufacturers.noActivation);
  if (!wanted && (!asked || shared)) return ENDED_HERE;
  // Where another company deletes the contract that begins soon, this is noticed when it would have begun.
  if (!wanted && begins !== null)
    return notAsked(Math.max(PLANNED_SECONDS, (Date.parse(begins) - now) / 1000), forTheNext);
  if (!asked || renewed || vehicleLookedAt === null) return null;
  const rest = Math.min(REST_SECONDS, activator.lookDelays[0] ?? 0) - (now - vehicleLookedAt) / 1000;
  return rest > 0 ? notAsked(rest) : null;
}
