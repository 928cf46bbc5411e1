/** Who can do something about a reason. */
export type Actor = 'CUSTOMER' | 'MANUFACTURER' | 'OPERATOR';

/** Why an answer is what it is. `code` is ours and stable; `message` is for people. */
export interface Reason {
  code: string;
  message: string;
  actor: Actor;
  retryable: boolean;
}

export type DataDelivery = 'PULL' | 'PUSH';
export type ConnectivityStatus = 'ACTIVATED' | 'DEACTIVATED' | 'UNKNOWN';

/** What a manufacturer said of a vehicle it knows. */
export interface Eligible {
  outcome: 'ANSWERED';
  eligible: boolean;
  dataDelivery: DataDelivery[];
  connectivityStatus: ConnectivityStatus | null;
  primaryUserAssigned: boolean | null;
  reason: Reason | null;
  /** The answer as it came, kept for support; never logged. */
  raw: unknown;
}

/** The provider does not serve this brand after all: the next candidate is asked. */
export interface BrandRefused {
  outcome: 'BRAND_REFUSED';
  raw: unknown;
}

/** An answer that asking again will not change. */
export interface Failed {
  outcome: 'FAILED';
  reason: Reason;
  raw: unknown;
}

/** No answer, but there may be one later. `retryAfter` is in seconds, where the provider named it. */
export interface NoAnswer {
  outcome: 'NO_ANSWER';
  reason: Reason;
  retryAfter?: number | undefined;
  /** false: nothing was sent, because the provider is resting or known to be down; no attempt was spent. */
  asked: boolean;
  raw: unknown;
}

export type ProviderAnswer = Eligible | BrandRefused | Failed | NoAnswer;

/** How a provider fares; times are null when there is nothing to wait for. */
export interface ProviderState {
  /** CLOSED: calls go through. OPEN: they fail at once until `probeAt`. PROBING: one call is finding out. */
  breaker: 'CLOSED' | 'OPEN' | 'PROBING';
  probeAt: Date | null;
  /** Until when the provider asked us to hold off. */
  pausedUntil: Date | null;
}

/**
 * Someone who knows whether a vehicle may join its manufacturer's connected-data program.
 * `verify` never throws for what the provider said or failed to say: that is its answer.
 */
export interface Provider {
  /** Slug, as shown by `GET /manufacturers`: `high-mobility`. */
  readonly id: string;
  /** Slugs of the brands it serves. */
  readonly brands: ReadonlySet<string>;
  verify(vin: string, brand: string): Promise<ProviderAnswer>;
  state(): ProviderState;
  /** Ends the connections; calls still under way answer NO_ANSWER. */
  close(): Promise<void>;
}
