import { ALL_FREE_PLACES, type PlacePolicy, SharedPlaces } from './shares.ts';

/** Beyond the free places, as many calls may be claimed as start within this time. */
const AHEAD_MS = 250;
const MOST_AHEAD = 512;
/** One place of so many is reserved for companies that have none; with fewer than half as many, none is. */
const RESERVE_ONE_OF = 16;

/** Places for calls under way, shared by companies, and how many vehicles may be claimed for them. */
export class Slots extends SharedPlaces {
  #usualMs = Number.POSITIVE_INFINITY;

  constructor(capacity: number) {
    super({ capacity, reserve: capacity < RESERVE_ONE_OF / 2 ? 0 : Math.ceil(capacity / RESERVE_ONE_OF) });
  }

  /** Notes the duration of a call: quick ones may be claimed further ahead. */
  took(ms: number): void {
    this.#usualMs = Number.isFinite(this.#usualMs) ? this.#usualMs * 0.9 + ms * 0.1 : ms;
  }

  /** Vehicles of this company that may be asked about now, with those that start within a moment. */
  override room(company: string, policy: PlacePolicy = ALL_FREE_PLACES): number {
    return super.room(company, { ...policy, queue: this.#ahead });
  }

  /** Whether it is time to claim more. */
  get canTakeMore(): boolean {
    return this.room('', { leaves: 0, reserved: false }) >= Math.max(1, this.#ahead / 2);
  }

  get #ahead(): number {
    return Math.min(MOST_AHEAD, Math.floor((this.capacity * AHEAD_MS) / Math.max(1, this.#usualMs)));
  }
}

export const openPlaces = (capacity: number): Slots => new Slots(capacity);
