/** What a verified token stands for, and the time (ms since 1970) at which it expires. */
export interface Verified<T> {
  value: T;
  expiresAt: number;
}

const LONGEST = 60_000;
const MOST_TOKENS = 10_000;
/** Longer tokens are verified each time, so that memory stays bounded (40 MB). */
const MOST_CHARACTERS = 4_096;

/** Remembers tokens until they expire, a minute at most: checking a signature costs more than a small request. */
export class VerifiedTokens<T> {
  readonly #entries = new Map<string, { value: Promise<T>; until: number }>();

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
    const entry = { until: Number.POSITIVE_INFINITY, value: verification.then(({ value }) => value) };
    // Taken out first: a Map keeps the order of insertion, so its first entry is the oldest.
    this.#entries.delete(token);
    this.#entries.set(token, entry);
    if (this.#entries.size > MOST_TOKENS) this.#entries.delete(this.#entries.keys().next().value ?? '');
    verification.then(
      ({ expiresAt }) => {
        entry.until = Math.min(expiresAt, Date.now() + LONGEST);
      },
      () => {
        if (this.#entries.get(token) === entry) this.#entries.delete(token);
      },
    );
    return entry.value;
  }
}
