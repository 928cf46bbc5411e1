import type { Response } from 'express';
import { RateLimited } from '../core/errors.ts';

const WINDOW_MS = 60_000;
/** How far processes may know more than each other: one exchange takes one statement. */
const EXCHANGE_MS = 1_000;
/** So that a flood from ever new addresses takes no more memory than this; later ones share one count. */
const MOST_COUNTED = 100_000;

/** Tells the other processes what was counted here in a minute, and gives what all have counted, by whom. */
export type ShareUse = (minute: number, counted: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, number>>;

/** What is left to somebody in this minute. */
interface Use {
  allowed: boolean;
  left: number;
  seconds: number;
}

/**
 * Points that each company may use per minute of the clock. Counted in memory, so that a request waits for nothing;
 * what was counted is exchanged in the background. While that fails, each process limits what comes to it alone.
 */
export class RateLimit {
  readonly perMinute: number;
  readonly #share: ShareUse | null;
  readonly #timer: NodeJS.Timeout | undefined;
  #minute = 0;
  /** `shared`: what all processes had at the last exchange; `unshared`: what has been counted here since. */
  #counts = new Map<string, { shared: number; unshared: number }>();
  #exchange: Promise<void> | null = null;

  constructor(perMinute: number, share: ShareUse | null) {
    this.perMinute = perMinute;
    this.#share = share;
    this.#timer =
      perMinute > 0 && share
        ? setInterval(() => {
            this.#exchange ??= this.#exchangeUse().finally(() => {
              this.#exchange = null;
            });
          }, EXCHANGE_MS).unref()
        : undefined;
  }

  /** Counts points, unless that would be too many: an error costs nothing. */
  use(who: string, points: number, now = Date.now()): Use {
    const minute = now - (now % WINDOW_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counts = new Map();
    }
    const count = this.#countOf(who);
    const used = count.shared + count.unshared;
    const allowed = used + points <= this.perMinute;
    if (allowed) count.unshared += points;
    const left = Math.max(0, this.perMinute - used - (allowed ? points : 0));
    return { allowed, left, seconds: Math.ceil((minute + WINDOW_MS - now) / 1000) };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#exchange;
  }

  #countOf(who: string): { shared: number; unshared: number } {
    const key = this.#counts.has(who) || this.#counts.size < MOST_COUNTED ? who : '(others)';
    const count = this.#counts.get(key) ?? { shared: 0, unshared: 0 };
    this.#counts.set(key, count);
    return count;
  }

  async #exchangeUse(): Promise<void> {
    const counts = this.#counts;
    const counted = new Map([...counts].flatMap(([who, { unshared }]) => (unshared > 0 ? [[who, unshared]] : [])));
    if (counted.size === 0) return;
    try {
      const shared = await this.#share?.(this.#minute, counted);
      for (const [who, points] of counted) {
        const count = counts.get(who);
        if (!count) continue;
        count.unshared -= points;
        count.shared = shared?.get(who) ?? points;
      }
    } catch {
      // What could not be told is told with the next exchange.
    }
  }
}

/** Counts a request's points and says in the headers what is left; throws RateLimited. */
export function limitRate(limit: RateLimit, who: string, points: number, res: Pick<Response, 'setHeader'>): void {
  const { perMinute } = limit;
  if (perMinute === 0) return;
  const { allowed, left, seconds } = limit.use(who, points);
  res.setHeader('RateLimit-Policy', `"company";q=${perMinute};w=${WINDOW_MS / 1000}`);
  res.setHeader('RateLimit', `"company";r=${left};t=${seconds}`);
  if (!allowed) throw new RateLimited(seconds);
}
