import { addAbortListener } from 'node:events';

export interface PlacePolicy {
  /** The number of places left free for each place that a holder has; 0 takes all that are not reserved. */
  leaves: number;
  /** A holder without a place may take a reserved one. */
  reserved: boolean;
  /** The length of the queue; without it, no work waits. */
  queue?: number;
}

/** How long work waits: until its client has left, or a time is over. Signals for times cost more than many a request. */
type Patience = { left: AbortSignal; ms?: number };

/** Holders with a known turn; the others count as those that waited longest. */
const MOST_SERVED = 100_000;

/** All free places; reserved ones for holders without a place. */
export const ALL_FREE_PLACES: PlacePolicy = { leaves: 0, reserved: true };

// Work of a holder is waiting (in `#waiting`), running (counted in `#running`, `#taken`) or over. `run` lets it wait. `#startNext` has it run
// whenever work arrives or ends: that of the holder with the fewest places, of equal ones of the longest without a turn. An
// aborted signal ends its waiting (`#forget`), and it never runs; `#leave` ends its running. Work of `take` never waits.

/** Starts waiting work, or ends its waiting. */
type WaitingWork = (starts: boolean) => void;

/** Places that companies (holders) share. Some are for holders without any; the holder with the fewest is next. */
export class SharedPlaces {
  readonly capacity: number;
  readonly #reserve: number;
  readonly #most: number;
  readonly #running = new Map<string, number>();
  /** Waiting work by holder; the holder that was served last comes last. */
  readonly #waiting = new Map<string, WaitingWork[]>();
  /** When each holder last took a place, in turns; the latest comes last. An LRU cache would reserve memory for all. */
  readonly #served = new Map<string, number>();
  #taken = 0;
  #queued = 0;
  #turn = 0;

  /** `most`: work of one holder that `run` runs at the same time. */
  constructor({ capacity = Infinity, reserve = 0, most = Infinity } = {}) {
    this.capacity = capacity;
    this.#reserve = reserve;
    this.#most = most;
  }

  get free(): number {
    return this.capacity - this.#taken;
  }

  get waiting(): number {
    return this.#queued;
  }

  held(holder: string): number {
    return (this.#running.get(holder) ?? 0) + (this.#waiting.get(holder)?.length ?? 0);
  }

  /** The places that a holder may still take. A holder without any may take a reserved one. */
  room(holder: string, { leaves, reserved, queue }: PlacePolicy): number {
    const held = this.held(holder);
    const open = this.free - this.#reserve - this.#queued + (queue ?? 0);
    const share = Math.floor((open - leaves * held) / (leaves + 1));
    const mayBegin = queue === undefined ? this.free > 0 : this.#queued < queue + this.capacity;
    return Math.max(share, held === 0 && mayBegin && (reserved || open > 0) ? 1 : 0);
  }

  /** Runs `work` in this holder's turn; rejects if its patience, asked for only if it has to wait, ends before. */
  async run<T>(holder: string, work: () => Promise<T>, patience?: () => Patience): Promise<T> {
    await this.#enter(holder, patience);
    try {
      return await work();
    } finally {
      this.#leave(holder);
    }
  }

  /** Takes a place and gives its release; null if the holder has `most` of them, or none is free for it. */
  take(holder: string, most: number): (() => void) | null {
    if (this.held(holder) >= most || this.room(holder, ALL_FREE_PLACES) === 0) return null;
    this.#take(holder);
    let isTaken = true;
    return () => {
      if (isTaken) this.#leave(holder);
      isTaken = false;
    };
  }

  /** Sorts holders: the fewest places first, then the longest time since their last turn. */
  inTurn<Holder>(holders: readonly Holder[], nameOf: (holder: Holder) => string): Holder[] {
    const turnOf = (name: string) => this.#served.get(name) ?? 0;
    const compared = (a: string, b: string) => this.held(a) - this.held(b) || turnOf(a) - turnOf(b);
    return holders.toSorted((a, b) => compared(nameOf(a), nameOf(b)));
  }

  async #enter(holder: string, patience?: () => Patience): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const queue = this.#waiting.get(holder) ?? [];
    queue.push(resolve);
    this.#waiting.set(holder, queue);
    this.#queued += 1;
    this.#startNext();
    const waits = queue.at(-1) === resolve;
    if (!waits || !patience) return void (await promise);
    const { left, ms } = patience();
    const giveUp = () => this.#forget(holder, resolve);
    const timer = ms === undefined ? undefined : setTimeout(giveUp, ms);
    using _leaving = addAbortListener(left, giveUp);
    const starts = await promise.finally(() => clearTimeout(timer));
    if (!starts) throw left.aborted ? left.reason : new Error('The work waited in vain for its turn.');
  }

  #forget(holder: string, one: WaitingWork): void {
    const queue = this.#waiting.get(holder) ?? [];
    const at = queue.indexOf(one);
    if (at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#waiting.delete(holder);
    this.#queued -= 1;
    one(false);
  }

  #leave(holder: string): void {
    this.#taken -= 1;
    const left = (this.#running.get(holder) ?? 1) - 1;
    if (left > 0) this.#running.set(holder, left);
    else this.#running.delete(holder);
    this.#startNext();
  }

  #startNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      const [holder, queue] = next;
      this.#waiting.delete(holder);
      const one = queue.shift() as WaitingWork;
      if (queue.length > 0) this.#waiting.set(holder, queue);
      this.#queued -= 1;
      this.#take(holder);
      one(true);
    }
  }

  #take(holder: string): void {
    this.#taken += 1;
    this.#running.set(holder, (this.#running.get(holder) ?? 0) + 1);
    this.#served.delete(holder);
    this.#served.set(holder, ++this.#turn);
    if (this.#served.size > MOST_SERVED) this.#served.delete(this.#served.keys().next().value ?? '');
  }

  /** The queue of the holder with the fewest places, if there is a place for it. */
  #next(): [holder: string, queue: WaitingWork[]] | undefined {
    if (this.free === 0 || this.#queued === 0) return undefined;
    let next: [string, WaitingWork[]] | undefined;
    let fewest = this.free > this.#reserve ? this.#most : 1;
    for (const one of this.#waiting) {
      const running = this.#running.get(one[0]) ?? 0;
      if (running >= fewest) continue;
      next = one;
      fewest = running;
    }
    return next;
  }
}
