import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../core/context.ts';

/** Work that comes due by itself. It may be done twice: what a killed process has claimed is done again. */
export interface Job {
  /** Does what is due, until no more is or the signal aborts; gives when more comes due (ISO 8601), if it knows. */
  run(signal: AbortSignal): Promise<string | null>;
  /** Resolves when nothing is under way any more; a job that leaves nothing behind its runs has none. */
  stop?(): Promise<void>;
}

/** `withBackoff` lets requests go first. */
export interface Tools {
  open: () => Context;
  onError: (error: unknown) => void;
  withBackoff: Steps;
}

/** So many failures in a round are no single company's fault. */
export const MOST_FAILURES = 3;
/** A company whose step failed is left out for this time. */
export const HELD_MS = 10_000;

/** Begins rounds of steps. A step gives what is left to do, or null where its company is left out, is not here, or just failed. */
export function rounds({ open, onError }: Pick<Tools, 'open' | 'onError'>) {
  const { fence } = open().services;
  const heldUntil = new Map<string, number>();
  return () => {
    let failures = 0;
    return async <R>(company: string, step: () => Promise<R>): Promise<{ left: R } | null> => {
      if ((heldUntil.get(company) ?? 0) > performance.now() || fence?.refusal(company, 'work')) return null;
      try {
        const left = await (fence ? fence.run(company, step, 'work') : step());
        heldUntil.delete(company);
        return { left };
      } catch (error) {
        heldUntil.set(company, performance.now() + HELD_MS);
        failures += 1;
        if (failures === MOST_FAILURES) throw error;
        onError(error);
        return null;
      }
    };
  };
}

/**
 * Does a step of each in turn, so that none waits for another, until none has more; a company that fails is left out.
 * `find` gives some, of those after one that it gave.
 */
export function inTurns<T extends { company: string }>(
  { open, withBackoff, onError }: Tools,
  find: (ctx: Context, after?: T) => Promise<readonly T[]>,
  step: (ctx: Context, one: T) => Promise<boolean>,
): Job {
  const begin = rounds({ open, onError });
  return {
    async run(signal) {
      const ctx = open();
      for (let more = true; more && !signal.aborted; ) {
        more = false;
        const attempt = begin();
        for (let some = await find(ctx); some.length > 0 && !signal.aborted; some = await find(ctx, some.at(-1))) {
          for (const one of some) {
            if (signal.aborted) break;
            const done = await attempt(one.company, () => withBackoff(() => step(ctx, one)));
            more ||= done?.left ?? false;
          }
        }
      }
      return null;
    },
  };
}

type CompanyStep = (ctx: Context, company: string) => Promise<unknown>;

/** Does a step for each company, whichever fail. Gives how many steps were done, and whether a company has more to do. */
export function stepOfEach({ withBackoff, ...tools }: Tools, step: CompanyStep) {
  const begin = rounds(tools);
  async function round(ctx: Context, companies: readonly string[], signal: AbortSignal) {
    let [done, more] = [0, false];
    const attempt = begin();
    for (const company of companies) {
      if (signal.aborted) break;
      const one = await attempt(company, () => step(ctx, company));
      if (one) done += 1;
      if (one?.left) more = true;
    }
    return { done, more };
  }
  return async (ctx: Context, companies: readonly string[], signal: AbortSignal) =>
    companies.length > 0 ? withBackoff(() => round(ctx, companies, signal)) : { done: 0, more: false };
}

/** Does `work` for one batch of items after another: those that come meanwhile are the next. A call ends as its batch does. */
export function batched<T, R = void>(
  work: (items: readonly T[]) => Promise<R>,
  { most = Number.POSITIVE_INFINITY, pause = (_: readonly T[]): Promise<unknown> | undefined => undefined } = {},
): (item: T) => Promise<R> {
  let next: { items: T[]; done: Promise<R> } | null = null;
  let last: Promise<unknown> = Promise.resolve();
  return (item) => {
    if (next && next.items.length < most) {
      next.items.push(item);
      return next.done;
    }
    const items = [item];
    const done = last
      .then(() => pause(items))
      .then(() => {
        if (next?.items === items) next = null;
        return work(items);
      });
    next = { items, done };
    last = done.catch(() => {});
    return done;
  };
}

export interface Activity {
  requests(): number;
  /** The part of the time since the last call in which the process was at work, 0 to 1. */
  utilisation(): number;
}

/** The utilisation from which requests begin to wait for each other, and at which most of them do. */
const BUSY = { from: 0.4, to: 0.8 };
const LOOK_MS = 25;
const REMEMBERED_MS = 250;
const LONGEST_PAUSE_MS = 50;

type Steps = <T>(step: () => Promise<T>) => Promise<T>;

/** While there are requests, a step waits as long as the last one took, or longer if the process is busy. */
export class Backoff {
  readonly #activity: Activity;
  readonly #wait: (ms: number) => Promise<unknown>;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #requests = 0;
  #requestAt = Number.NEGATIVE_INFINITY;
  #utilisation = 0;

  constructor(activity: Activity, wait: (ms: number) => Promise<unknown> = delay) {
    this.#activity = activity;
    this.#wait = wait;
  }

  /** The steps of one job, each of which waits for requests at most `longest` ms. */
  steps(longest = LONGEST_PAUSE_MS): Steps {
    let took = 0;
    return async (step) => {
      // A long pause ends early where the process was busy for a moment only.
      let waited = 0;
      for (let left = this.#pause(took, longest); left >= 1; left = this.#pause(took, longest) - waited) {
        const part = Math.min(left, LONGEST_PAUSE_MS);
        await this.#wait(part);
        waited += part;
      }
      const start = performance.now();
      try {
        return await step();
      } finally {
        took = performance.now() - start;
      }
    };
  }

  #pause(took: number, longest: number): number {
    const now = performance.now();
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      this.#utilisation = this.#activity.utilisation();
      const requests = this.#activity.requests();
      if (requests !== this.#requests) this.#requestAt = now;
      this.#requests = requests;
    }
    if (now - this.#requestAt > REMEMBERED_MS) return 0;
    const busy = (this.#utilisation - BUSY.from) / (BUSY.to - BUSY.from);
    return Math.min(longest, Math.max(took, busy * longest));
  }
}

/** The activity of this process, whose server counts its requests. */
export function activityOf(server: { on(event: 'request', heard: () => void): unknown }): Activity {
  let requests = 0;
  server.on('request', () => {
    requests += 1;
  });
  let last = performance.eventLoopUtilization();
  return {
    requests: () => requests,
    utilisation() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
  };
}
