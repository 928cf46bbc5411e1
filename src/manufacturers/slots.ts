/** How far ahead of the free places calls may be lined up: as many as start within so long. */
const AHEAD_MS = 250;
const MOST_AHEAD = 512;
/** Of so many places one is kept for companies that have none; fewer than half as many are all given away. */
const KEEP_ONE_OF = 16;

/**
 * Places for calls under way. The company that has the fewest is next, and the last places are for companies that have
 * none, so that one company's slow calls hold up nobody else's.
 */
export class Slots {
  readonly #capacity: number;
  readonly #kept: number;
  readonly #running = new Map<string, number>();
  /** Calls lined up, by company; who was served last stands last. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #taken = 0;
  #linedUp = 0;
  #usualMs = Number.POSITIVE_INFINITY;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#kept = capacity < KEEP_ONE_OF / 2 ? 0 : Math.ceil(capacity / KEEP_ONE_OF);
  }

  /** Runs `work` in a place, as soon as it is this company's turn. */
  async run<T>(company: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(company);
    try {
      return await work();
    } finally {
      this.#leave(company);
    }
  }

  /** Takes note of how long a call took: quick ones may be lined up further ahead. */
  took(ms: number): void {
    this.#usualMs = Number.isFinite(this.#usualMs) ? this.#usualMs * 0.9 + ms * 0.1 : ms;
  }

  /** How many more calls of this company would start soon. One that has none may line up one, even where all is taken. */
  room(company: string): number {
    const first = this.held(company) === 0 && this.#linedUp < this.#ahead + this.#capacity;
    return Math.max(this.#spare, first ? 1 : 0);
  }

  /** How many calls of this company are under way or lined up. */
  held(company: string): number {
    return (this.#running.get(company) ?? 0) + (this.#waiting.get(company)?.length ?? 0);
  }

  /** Whether it is time to line up more. */
  get wanting(): boolean {
    return this.#spare >= Math.max(1, this.#ahead / 2);
  }

  get #ahead(): number {
    return Math.min(MOST_AHEAD, Math.floor((this.#capacity * AHEAD_MS) / Math.max(1, this.#usualMs)));
  }

  get #spare(): number {
    return this.#capacity - this.#kept + this.#ahead - this.#taken - this.#linedUp;
  }

  #enter(company: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const line = this.#waiting.get(company);
    if (line) line.push(resolve);
    else this.#waiting.set(company, [resolve]);
    this.#linedUp += 1;
    this.#startNext();
    return promise;
  }

  #leave(company: string): void {
    this.#taken -= 1;
    const left = (this.#running.get(company) ?? 1) - 1;
    if (left > 0) this.#running.set(company, left);
    else this.#running.delete(company);
    this.#startNext();
  }

  #startNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const [company, line] = next;
      this.#waiting.delete(company);
      line.shift()?.();
      if (line.length > 0) this.#waiting.set(company, line);
      this.#linedUp -= 1;
      this.#taken += 1;
      this.#running.set(company, (this.#running.get(company) ?? 0) + 1);
    }
  }

  /** The line of the company with the fewest calls under way, if there is a place for it. */
  #next(): [company: string, line: (() => void)[]] | undefined {
    const free = this.#capacity - this.#taken;
    if (free === 0 || this.#linedUp === 0) return undefined;
    let next: [string, (() => void)[]] | undefined;
    let fewest = free > this.#kept ? Number.POSITIVE_INFINITY : 1;
    for (const one of this.#waiting) {
      const running = this.#running.get(one[0]) ?? 0;
      if (running >= fewest) continue;
      next = one;
      fewest = running;
    }
    return next;
  }
}
