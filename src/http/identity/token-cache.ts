import { LRUCache } from 'lru-cache';

/** What a verified token stands for, and the time (ms since 1970) at which it expires. */
export interface Verified<T> {
  value: T;
  expiresAt: number;
}

const LONGEST = 60_000;
/** Of all tokens and what is kept beside each: 40,000 usual ones of 700 characters. */
const MOST_BYTES = 40 * 1024 * 1024;
const BYTES_BESIDE = 300;
/** Longer tokens are verified each time: few of them would take the place of many. */
const MOST_CHARACTERS = 4_096;

interface Entry<T> {
  value: Promise<T>;
  until: number;
}

/** Remembers tokens until they expire, a minute at most: checking a signature costs more than a small request. */
export class VerifiedTokens<T> {
  readonly #entries = new LRUCache<string, Entry<T>>({
    maxSize: MOST_BYTES,
    sizeCalculation: (_, token) => token.length + BYTES_BESIDE,
  });

  /** What `verify` says of this token, now or a moment ago. Concurrent first uses verify once; errors are forgotten. */
  get(token: string, verify: () => Promise<Verified<T>>): Promise<T> {
    const known = this.#entries.get(token);
    if (known && Date.now() < known.until) return known.value;
    if (token.length > MOST_CHARACTERS) return verify().then(({ value }) => value);
    return this.#remember(token, verify());
  }

  /** For when the keys have changed; verifications under way are not remembered either. */
  clear(): void {
    this.#entries.clear();
  }

  #remember(token: string, verification: Promise<Verified<T>>): Promise<T> {
    const entry: Entry<T> = { until: Number.POSITIVE_INFINITY, value: verification.then(({ value }) => value) };
    this.#entries.set(token, entry);
    verification.then(
      ({ expiresAt }) => {
        entry.until = Math.min(expiresAt, Date.now() + LONGEST);
      },
      () => {
        if (this.#entries.peek(token) === entry) this.#entries.delete(token);
      },
    );
    return entry.value;
  }
}
