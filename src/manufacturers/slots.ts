import { Shares } from '../fairness/shares.ts';
import { type BrandId, brandIds, wmiTable } from './brands.ts';
import type { Capacity, Provider, Reason } from './provider.ts';

/** How far ahead of the free places calls may be claimed: as many as start within so long. */
const AHEAD_MS = 250;
const MOST_AHEAD = 512;
/** Of so many places one is reserved for companies that have none; fewer than half as many are all given away. */
const RESERVE_ONE_OF = 16;

/** Places for calls under way, shared by companies, and how many vehicles may be claimed for them. */
export class Slots implements Capacity {
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

  room(company: string): number {
    return this.#shares.room(company, { leaves: 0, reserved: true, queue: this.#ahead });
  }

  inTurn(companies: readonly string[]): string[] {
    return this.#shares.inTurn(companies, String);
  }

  get wanting(): boolean {
    const spare = this.#shares.room('', { leaves: 0, reserved: false, queue: this.#ahead });
    return spare >= Math.max(1, this.#ahead / 2);
  }

  get #ahead(): number {
    return Math.min(MOST_AHEAD, Math.floor((this.#capacity * AHEAD_MS) / Math.max(1, this.#usualMs)));
  }
}

/** A provider as seen by whoever chooses which vehicles to ask about next. Brands are the likeliest ones of vehicles. */
export interface Lane {
  capacity: Capacity;
  /** Brands of vehicles that another provider is asked about. */
  elsewhere: readonly string[];
  /** Brands that nothing is sent about for so many seconds, and why. */
  holds(): { brands: string[]; seconds: number; reason: Reason }[];
}

export function lanesOf(providers: readonly Provider[], byBrand: ReadonlyMap<BrandId, Provider>): Lane[] {
  /** The brand that is asked about first where a vehicle's likeliest brand is this one, if any is. */
  const askedFirst = new Map(
    brandIds.flatMap((id) => {
      const candidates = [id, ...wmiTable.filter((row) => row.brands[0] === id).flatMap((row) => row.brands)];
      const asked = candidates.find((one) => byBrand.has(one));
      return asked ? [[id, asked] as const] : [];
    }),
  );
  const providerOf = (id: BrandId) => byBrand.get(askedFirst.get(id) ?? id);
  return providers.map((provider) => ({
    capacity: provider.capacity,
    elsewhere: brandIds.filter((id) => (providerOf(id) ?? provider) !== provider),
    holds: () =>
      provider.state().holds.map(({ brand, ...hold }) => ({
        ...hold,
        brands: brandIds.filter(
          (id) => providerOf(id) === provider && (brand === null || askedFirst.get(id) === brand),
        ),
      })),
  }));
}
