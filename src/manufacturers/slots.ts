import { Shares } from '../fairness/shares.ts';

/** How far ahead of the free places calls may be claimed: as many as start within so long. */
const AHEAD_MS = 250;
const MOST_AHEAD = 512;
/** One place of so many is reserved for companies that have none; a provider with fewer than half as many reserves none. */
const RESERVE_ONE_OF = 16;

/** Places for calls under way, shared by companies, and how many vehicles may be claimed for them. */
export class Slots {
  readonly #capacity: number;
  readonly #shares: Shares;
  #usualMs = Number.POSITIVE_INFINITY;

  constructor(capacity: number) {
    this.#capacity = capacity;
    const reserve = capacity < RESERVE_ONE_OF / 2 ? 0 : Math.ceil(capacity / RESERVE_ONE_OF);
    this.#shares = new Shares({ capacity, reserve });
  }

  run<T>(company: string, work: () => Promise<T>): Promise<T> {
    return this.#shares.run(company, work);
  }

  /** Takes note of how long a call took: quick ones may be claimed further ahead. */
  took(ms: number): void {
    this.#usualMs = Number.isFinite(this.#usualMs) ? this.#usualMs * 0.9 + ms * 0.1 : ms;
  }

  /** Vehicles of this company that may be asked about now, with those that start within a moment. */
  room(company: string): number {
    return this.#shares.room(company, { leaves: 0, reserved: true, queue: this.#ahead });
  }

  /** Companies with the fewest vehicles under way come first. */
  inTurn(companies: readonly string[]): string[] {
    return this.#shares.inTurn(companies, String);
  }

  /** Whether it is time to claim more. */
  get wanting(): boolean {
    const spare = this.#shares.room('', { leaves: 0, reserved: false, queue: this.#ahead });
    return spare >= Math.max(1, this.#ahead / 2);
  }

  get #ahead(): number {
    return Math.min(MOST_AHEAD, Math.floor((this.#capacity * AHEAD_MS) / Math.max(1, this.#usualMs)));
  }
}
