import { type CircuitState, ProviderError, type ProviderErrorKind, type ProviderState, reasonOf } from './provider.ts';

export const breakerDefaults = {
  /** Errors in a row that open the circuit. */
  breakAfter: 5,
  /** The first break, in ms; each probe that fails doubles the next, up to a minute. */
  probeAfterMs: 2_000,
  /** In ms since 1970. */
  clock: () => Date.now(),
};
type BreakerOptions = typeof breakerDefaults;

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

  /** Until when (ms since 1970) nothing is sent, and why; null where a call may go through now. */
  hold(): { until: number; kind: ProviderErrorKind } | null {
    const now = this.#options.clock();
    if (!this.#open || (!this.#probing && !this.#waits(this.#open, now))) return null;
    const { probeAt, breakMs, kind } = this.#open;
    // The probe under way may lead to another break, seldom to one as long as an answer named.
    return { until: this.#probing ? now + Math.min(breakMs, LONGEST_BREAK_MS) : probeAt, kind };
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

  /** Calls that were under way when the circuit opened say nothing new. One that names a break, in seconds, opens it at once. */
  failed(kind: ProviderErrorKind, probe: boolean, named?: number): void {
    if (named === 0) {
      this.inconclusive(probe);
      return;
    }
    if (this.#open ? !probe : ++this.#errors < this.#options.breakAfter && named === undefined) return;
    const now = this.#options.clock();
    const own = Math.min(LONGEST_BREAK_MS, this.#options.probeAfterMs * 2 ** this.#openings++);
    const breakMs = named === undefined ? own : named * 1000;
    this.#open = { since: this.#open?.since ?? now, probeAt: now + breakMs, breakMs, kind };
    this.#probing = false;
  }

  /** After a probe that found out nothing, the next call is one. */
  inconclusive(probe: boolean): void {
    if (probe) this.#probing = false;
  }

  /** Whether the break lasts. A clock that was set back to before it must not lengthen it. */
  #waits({ probeAt, breakMs }: { probeAt: number; breakMs: number }, now: number): boolean {
    return now < probeAt && now >= probeAt - breakMs;
  }

  get state(): CircuitState {
    if (!this.#open) return { breaker: 'CLOSED', since: null, probeAt: null, reason: null };
    const { since, probeAt, kind } = this.#open;
    const waits = !this.#probing && this.#waits(this.#open, this.#options.clock());
    return {
      breaker: this.#probing ? 'PROBING' : 'OPEN',
      since: new Date(since),
      probeAt: waits ? new Date(probeAt) : null,
      reason: reasonOf(kind),
    };
  }
}

/** The circuits of a provider and of each brand at it: each brand that fails is held back, and probed, by itself. */
export function openBreakers(options: BreakerOptions) {
  const own = new Breaker(options);
  const byBrand = new Map<string, Breaker>();

  function breakerOf(brand: string): Breaker {
    const breaker = byBrand.get(brand) ?? new Breaker(options);
    byBrand.set(brand, breaker);
    return breaker;
  }

  /** For how many seconds nothing is sent about a brand, and why; null where a call may go through now. */
  function hold(brand: string): { seconds: number; kind: ProviderErrorKind } | null {
    const held = own.hold() ?? byBrand.get(brand)?.hold();
    return held ? { seconds: secondsUntil(held.until, options.clock()), kind: held.kind } : null;
  }

  /** Does `work` unless the brand is held back, and learns from the outcome. Throws the error that opened the circuit. */
  async function watch<T>(brand: string, work: () => Promise<T>): Promise<T> {
    const held = hold(brand);
    if (held) throw new ProviderError(held.kind, { retryAfter: held.seconds, asked: false });
    const probes = { provider: own.enter(), brand: breakerOf(brand).enter() };
    try {
      const reply = await work();
      own.answered();
      breakerOf(brand).answered();
      return reply;
    } catch (error) {
      noteFailure(brand, error, probes);
      throw error;
    }
  }

  function noteFailure(brand: string, error: unknown, probes: { provider: boolean; brand: boolean }): void {
    const { concerns, kind, answer } = error instanceof ProviderError ? error : UNKNOWN;
    if (concerns === 'BRAND') breakerOf(brand).failed(kind, probes.brand, answer.retryAfter);
    else breakerOf(brand).inconclusive(probes.brand);
    const failsProvider = concerns === 'PROVIDER' || (concerns === 'BRAND' && probes.provider);
    // A break that an answer names for its brand is none of the others.
    if (failsProvider) own.failed(kind, probes.provider, concerns === 'PROVIDER' ? answer.retryAfter : undefined);
    else own.inconclusive(probes.provider);
    // The provider's faults are not held against a brand.
    if (own.state.breaker !== 'CLOSED') byBrand.clear();
  }

  /** The provider's state; where every brand that is asked about is held back, that of the first to be probed. */
  function providerState(brands: ProviderState['brands']): CircuitState {
    const { state } = own;
    if (state.breaker !== 'CLOSED' || brands.length === 0 || brands.length < byBrand.size) return state;
    const { id: _, ...first } = brands.reduce((a, b) => (Number(a.probeAt) <= Number(b.probeAt) ? a : b));
    return first;
  }

  function state() {
    const all = [...byBrand].map(([id, one]) => ({ id, ...one.state }));
    const brands = all.filter(({ breaker }) => breaker !== 'CLOSED');
    const held = own.hold() ? [null] : [...byBrand.keys()];
    const holds = held.flatMap((brand) => {
      const found = hold(brand ?? '');
      return found ? [{ brand, seconds: found.seconds, reason: reasonOf(found.kind) }] : [];
    });
    return { provider: providerState(brands), brands, holds };
  }

  return { hold, watch, state };
}

const UNKNOWN = new ProviderError('UNREACHABLE', { concerns: 'CALL' });

/** Whole seconds until a time, at least 1. */
export const secondsUntil = (time: number, now: number): number => Math.max(1, Math.ceil((time - now) / 1000));
