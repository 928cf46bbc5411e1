import { ProviderError, type ProviderErrorKind } from './provider.ts';

export interface BreakerOptions {
  /** Errors in a row that open the circuit. */
  breakAfter: number;
  /** How long the circuit stays open at first, in ms; doubles with every probe that fails, up to a minute. */
  probeAfterMs: number;
  /** In ms since 1970. */
  clock: () => number;
}

/** Why and until when (ms since 1970) nothing is sent. */
export interface Hold {
  until: number;
  kind: ProviderErrorKind;
}

/** `since` is when calls stopped going through; times are in ms since 1970. */
export interface BreakerState {
  state: 'CLOSED' | 'OPEN' | 'PROBING';
  since: number | null;
  probeAt: number | null;
  kind: ProviderErrorKind | null;
}

const LONGEST_BREAK_MS = 60_000;

/** A circuit breaker: after errors in a row nothing goes through but one probe at a time, until one is answered. */
export class Breaker {
  readonly #options: BreakerOptions;
  #errors = 0;
  #openings = 0;
  #open: { since: number; probeAt: number; breakMs: number; kind: ProviderErrorKind } | null = null;
  #probing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** null where a call may go through now. */
  hold(now = this.#options.clock()): Hold | null {
    if (!this.#open || (!this.#probing && now >= this.#open.probeAt)) return null;
    const { probeAt, breakMs, kind } = this.#open;
    // While the probe is under way nobody knows; what it may lead to is another break.
    return { until: this.#probing ? now + breakMs : probeAt, kind };
  }

  /** Lets a call through that `hold` does not hold; gives whether it is a probe. */
  enter(): boolean {
    if (this.#open) this.#probing = true;
    return this.#open !== null;
  }

  answered(): void {
    this.#errors = 0;
    this.#openings = 0;
    this.#open = null;
    this.#probing = false;
  }

  /** Calls that were under way when the circuit opened say nothing new. */
  failed(kind: ProviderErrorKind, probe: boolean): void {
    if (this.#open ? probe : ++this.#errors >= this.#options.breakAfter) this.open(kind);
  }

  /** A probe that found out nothing: the next call is one. */
  inconclusive(probe: boolean): void {
    if (probe) this.#probing = false;
  }

  open(kind: ProviderErrorKind): void {
    const now = this.#options.clock();
    const breakMs = Math.min(LONGEST_BREAK_MS, this.#options.probeAfterMs * 2 ** this.#openings++);
    this.#open = { since: this.#open?.since ?? now, probeAt: now + breakMs, breakMs, kind };
    this.#probing = false;
  }

  get state(): BreakerState {
    if (!this.#open) return { state: 'CLOSED', since: null, probeAt: null, kind: null };
    const { since, probeAt, kind } = this.#open;
    const waits = !this.#probing && probeAt > this.#options.clock();
    return { state: this.#probing ? 'PROBING' : 'OPEN', since, probeAt: waits ? probeAt : null, kind };
  }
}

export class Held extends Error {
  readonly hold: Hold;
  constructor(hold: Hold) {
    super('held back');
    this.hold = hold;
  }
}

/** Whether a provider, and each brand at it, answers: each brand that fails is held back, and probed, by itself. */
export class Breakers {
  readonly #options: BreakerOptions;
  readonly #provider: Breaker;
  readonly #brands = new Map<string, Breaker>();

  constructor(options: BreakerOptions) {
    this.#options = options;
    this.#provider = new Breaker(options);
  }

  hold(brand: string): Hold | null {
    return this.#provider.hold() ?? this.#brands.get(brand)?.hold() ?? null;
  }

  /** Does `work` unless the brand is held back: throws Held then. Learns from what comes of it. */
  async watch<T>(brand: string, work: () => Promise<T>): Promise<T> {
    const hold = this.hold(brand);
    if (hold) throw new Held(hold);
    const probes = { provider: this.#provider.enter(), brand: this.#of(brand).enter() };
    try {
      const reply = await work();
      this.#provider.answered();
      this.#of(brand).answered();
      return reply;
    } catch (error) {
      this.#failed(brand, error, probes);
      throw error;
    }
  }

  /** The provider's state; where every brand that is asked about is held back, that of the first to be probed. */
  get provider(): BreakerState {
    const brands = this.brands;
    const [first] = brands.toSorted((a, b) => (a.probeAt ?? 0) - (b.probeAt ?? 0));
    return this.#provider.state.state === 'CLOSED' && first && brands.length === this.#brands.size
      ? first
      : this.#provider.state;
  }

  /** The brands whose calls do not go through, though the provider's may. */
  get brands(): ({ id: string } & BreakerState)[] {
    return [...this.#brands].map(([id, one]) => ({ id, ...one.state })).filter(({ state }) => state !== 'CLOSED');
  }

  get holds(): ({ brand: string | null } & Hold)[] {
    const all = this.#provider.hold();
    if (all) return [{ brand: null, ...all }];
    return [...this.#brands].flatMap(([brand, one]) => {
      const hold = one.hold();
      return hold ? [{ brand, ...hold }] : [];
    });
  }

  #of(brand: string): Breaker {
    const breaker = this.#brands.get(brand) ?? new Breaker(this.#options);
    this.#brands.set(brand, breaker);
    return breaker;
  }

  #failed(brand: string, error: unknown, probes: { provider: boolean; brand: boolean }): void {
    const concerns = error instanceof ProviderError ? error.concerns : 'CALL';
    const kind = error instanceof ProviderError ? error.kind : 'UNREACHABLE';
    if (concerns === 'BRAND') this.#of(brand).failed(kind, probes.brand);
    else this.#of(brand).inconclusive(probes.brand);
    if (concerns === 'PROVIDER' || (concerns === 'BRAND' && probes.provider)) {
      this.#provider.failed(kind, probes.provider);
    } else this.#provider.inconclusive(probes.provider);
    // The provider's faults are not held against a brand.
    if (this.#provider.state.state !== 'CLOSED') this.#brands.clear();
  }
}
