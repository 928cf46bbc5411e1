import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { Reply, UpstreamRequest } from './exchange.ts';
import {
  type Asker,
  type NoAnswer,
  notAsked,
  type ProgramAnswer,
  type ProgramWish,
  ProviderError,
  type Reason,
  reason,
} from './provider.ts';

/** A manufacturer decides within minutes, days or weeks. */
export const LOOKS = [60, 300, 900, 3600, 21_600];

export type Answer = Reply | NoAnswer;
/** Sends a request to the provider with its token. Never throws: it answers. */
export type Ask = (request: UpstreamRequest) => Promise<Answer>;
export type AskFor = (request: UpstreamRequest, asker: Asker) => Promise<Answer>;

export const stands = (state: ProgramAnswer['state'], raw: unknown, reason: Reason | null = null): ProgramAnswer => ({
  outcome: 'STANDS',
  state,
  reason,
  raw,
});

export const unreadable = (raw: unknown): NoAnswer => new ProviderError('BAD_ANSWER', { raw }).answer;

/** The body of an answer of 200; undefined for any other answer. */
export const readOk = <T>(schema: z.ZodType<T>, answer: Answer): T | undefined =>
  answer.outcome === 'REPLY' && answer.status === 200 ? schema.safeParse(answer.body).data : undefined;

/** The answer to a request that was not carried out, where its provider says nothing that this gateway knows. */
export function unanswered(answer: Answer): NoAnswer {
  if (answer.outcome === 'NO_ANSWER') return answer;
  const { status, body } = answer;
  return status === 200 ? unreadable(body) : new ProviderError('UNEXPECTED', { raw: { status, body } }).answer;
}

/** Whether the provider is asked how the program stands, before it is told to change it. */
export const isLookedAt = ({ asked, renewed, repeated }: ProgramWish): boolean => asked && (!renewed || repeated);

const HOUR_MS = 3_600_000;

/** Whether a list says something of the time before the wish. `at`: ms since 1970. */
export const isOlder = ({ since }: ProgramWish, at: number | null): boolean => at !== null && at + 1000 <= since;

/**
 * Lists lag behind: what one says of the time before the wish is no answer to it, within an hour, unless the wish was decided against
 * before.
 */
export const isBefore = (wish: ProgramWish, at: number | null, now: number): boolean =>
  wish.state !== 'REJECTED' && isOlder(wish, at) && now < wish.since + HOUR_MS;

/** Whether access was ended by this gateway: an end that it ordered may be carried out later. */
export const isOwnEnd = ({ endedAt }: ProgramWish, at: number | null, now: number): boolean =>
  endedAt !== null && (at ?? now) < endedAt + HOUR_MS;

/** A program that the driver or manufacturer decided against stays rejected, whatever the provider's list lacks. */
export const decided = ({ wanted, state, reason }: ProgramWish): ProgramAnswer | null =>
  wanted && state === 'REJECTED' ? stands(state, null, reason) : null;

const byDriver = /driver|owner|holder|user|customer|consent/i;

export function accessRevoked(why: string | null = null): Reason {
  const isDriver = byDriver.test(why ?? '');
  const who = isDriver ? 'The driver' : 'The manufacturer';
  const message = `${who} ended the access to this vehicle${why ? `: ${why}` : '.'}`;
  return { ...reason('ACCESS_REVOKED', message), actor: isDriver ? 'DRIVER' : 'MANUFACTURER' };
}

/** Looks end earlier than other questions: what they find is to be changed. */
export const forLooks = (asker: Asker): Asker => ({
  company: asker.company,
  get deadline() {
    return Math.min(asker.deadline, asker.looksEnd ?? Number.POSITIVE_INFINITY);
  },
});

const PER_SECOND = 20;
const LONGEST_TURN_MS = 10_000;

/** Orders one after the other: High Mobility's document asks to avoid bursts of calls within a few seconds. */
export class Pace {
  readonly #clock: () => number;
  #next = 0;
  #late = 0;

  constructor(clock = Date.now) {
    this.#clock = clock;
  }

  /** Resolves when it is this order's turn; the answer instead, where others are before it for too long. */
  async turn(): Promise<NoAnswer | null> {
    const now = this.#clock();
    // A clock may be set back.
    if (this.#next > now + LONGEST_TURN_MS + 1000) this.#next = now;
    const wait = this.#next - now;
    if (wait > LONGEST_TURN_MS) {
      return notAsked(LONGEST_TURN_MS / 1000 + this.#late++ / PER_SECOND);
    }
    this.#late = 0;
    this.#next = Math.max(now, this.#next) + 1000 / PER_SECOND;
    if (wait > 0) await sleep(wait);
    return null;
  }
}

export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

/** Of a thousand items, the one at fault is found by twenty requests; High Mobility allows 60 a minute. */
const NARROWING = { requests: 24, seconds: 60 };

/** Requests that find out which items of a refused one are at fault, where its refusal names none: so many a minute. */
export class Narrowing {
  readonly #clock: () => number;
  #since = 0;
  #left = 0;

  constructor(clock = Date.now) {
    this.#clock = clock;
  }

  /** Seconds until a request can be halved. */
  get wait(): number {
    const passed = (this.#clock() - this.#since) / 1000;
    return this.#left >= 2 || passed < 0 ? 0 : Math.max(0, NARROWING.seconds - passed);
  }

  halves(): boolean {
    if (this.wait > 0) return false;
    if (this.#left < 2) [this.#left, this.#since] = [NARROWING.requests, this.#clock()];
    this.#left -= 2;
    return true;
  }
}

interface Sending<T> {
  /** Items of one request. */
  most: number;
  send: (items: readonly T[]) => Promise<Answer>;
  /** Which items a refusal blames, where the provider refuses a request as a whole because of some; null where it concerns none. */
  blames: (refusal: Reply) => ((item: T) => boolean) | null;
  note: (items: readonly T[], answer: Answer) => void;
  narrowing: Narrowing;
}

/** Sends items in as few requests as may be, and those that a refusal concerns apart from the others. */
export async function sendAll<T>(items: readonly T[], sending: Sending<T>): Promise<void> {
  for (const some of chunksOf(items, sending.most)) await sendApart(some, sending);
}

/**
 * Sends items in one request, and again without those that the refusal of it blames. Where it names none, halves are sent until the
 * refused items are alone; those that are not alone by then wait.
 */
async function sendApart<T>(items: readonly T[], sending: Sending<T>): Promise<void> {
  const { send, blames, note, narrowing } = sending;
  if (items.length === 0) return;
  const answer = await send(items);
  const isAtFault = answer.outcome === 'REPLY' && answer.status >= 400 ? blames(answer) : null;
  if (answer.outcome === 'NO_ANSWER' || !isAtFault || items.length === 1) return note(items, answer);
  const [named, others] = [items.filter(isAtFault), items.filter((item) => !isAtFault(item))];
  if (named.length > 0) {
    note(named, answer);
    return sendApart(others, sending);
  }
  if (!narrowing.halves()) return note(items, { ...unanswered(answer), retryAfter: narrowing.wait });
  const middle = Math.ceil(items.length / 2);
  await sendApart(items.slice(0, middle), sending);
  await sendApart(items.slice(middle), sending);
}

/** Timestamps without a zone are UTC. */
export function timeOf(timestamp?: string | null): number | null {
  const time = Date.parse(/[zZ]$|[+-]\d\d:?\d\d$/.test(timestamp ?? '') ? `${timestamp}` : `${timestamp}Z`);
  return Number.isNaN(time) ? null : time;
}
