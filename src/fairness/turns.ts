/** A turn of the event loop is short up to this time. */
const SHORT_MS = 5;

/**
 * A company is alone if no other has sent a request for this time: a person sends one now and then. Requests without a
 * company do not count, and always queue.
 */
const ALONE_MS = 60_000;

/**
 * Requests (and what followers are told) begin at once in a short turn of the event loop, or if one company is alone. Others queue by company, so that
 * expensive requests of one do not block another: each turn takes one request, twice as many after each short turn.
 */
export class RequestTurns {
  readonly #clock: () => number;
  readonly #aloneMs: number;
  #began: number | null = null;
  /** Waiting requests by company; the company of the last turn comes last. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** The number of requests that begin in the next turn. */
  #most = 1;
  /** The company of the last request, and the time of its first request after another company's. */
  #last = { company: '', since: 0 };

  constructor({ clock = () => performance.now(), aloneMs = ALONE_MS } = {}) {
    this.#clock = clock;
    this.#aloneMs = aloneMs;
  }

  /** Resolves when a request of this company may begin; undefined if it may begin now. */
  next(company: string): Promise<void> | undefined {
    const now = this.#clock();
    if (company && company !== this.#last.company) this.#last = { company, since: now };
    if (this.#began === null) this.#beginTurn();
    else if (this.#waiting.size > 0 || (now - this.#began > SHORT_MS && !this.isAlone(company, now))) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const queue = this.#waiting.get(company);
      if (queue) queue.push(resolve);
      else this.#waiting.set(company, [resolve]);
      return promise;
    }
    return undefined;
  }

  /** Whether all recent requests are of this company. */
  isAlone(company: string, now = this.#clock()): boolean {
    return company === this.#last.company && now - this.#last.since >= this.#aloneMs;
  }

  #beginTurn(): void {
    const began = this.#clock();
    this.#began = began;
    setImmediate(() => {
      this.#began = null;
      this.#most = this.#clock() - began > SHORT_MS ? 1 : this.#most * 2;
      if (this.#waiting.size > 0) this.#letIn();
      else this.#most = 1;
    });
  }

  #letIn(): void {
    this.#beginTurn();
    for (let at = 0; at < this.#most; at++) {
      const [next] = this.#waiting;
      if (!next) return;
      const [company, queue] = next;
      const begin = queue.shift();
      this.#waiting.delete(company);
      if (queue.length > 0) this.#waiting.set(company, queue);
      begin?.();
    }
  }
}
