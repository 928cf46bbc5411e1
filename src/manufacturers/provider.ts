import type { z } from 'zod';
import type { Places } from './host.ts';

/**
 * Who can do something about each reason, and whether asking again may change it. Subscribers branch on the codes, so they never
 * change; GraphQL's schema says what they mean.
 */
const causes = {
  CONNECTIVITY_DEACTIVATED: { actor: 'CUSTOMER', retryable: true },
  PRIMARY_USER_MISSING: { actor: 'CUSTOMER', retryable: true },
  NOT_ELIGIBLE: { actor: 'MANUFACTURER', retryable: true },
  NO_SERVICE_AVAILABLE: { actor: 'MANUFACTURER', retryable: true },
  VIN_REFUSED: { actor: 'CUSTOMER', retryable: false },
  REFUSED: { actor: 'MANUFACTURER', retryable: false },
  VEHICLE_BLACKLISTED: { actor: 'MANUFACTURER', retryable: false },
  MANUFACTURER_UNKNOWN: { actor: 'CUSTOMER', retryable: false },
  MANUFACTURER_NOT_SUPPORTED: { actor: 'OPERATOR', retryable: false },
  PROVIDER_TIMEOUT: { actor: 'MANUFACTURER', retryable: true },
  PROVIDER_UNREACHABLE: { actor: 'MANUFACTURER', retryable: true },
  PROVIDER_ERROR: { actor: 'MANUFACTURER', retryable: true },
  PROVIDER_BAD_ANSWER: { actor: 'MANUFACTURER', retryable: true },
  PROVIDER_BUSY: { actor: 'MANUFACTURER', retryable: true },
  PROVIDER_CREDENTIALS: { actor: 'OPERATOR', retryable: true },
  PROVIDER_UNEXPECTED: { actor: 'OPERATOR', retryable: true },
  PROVIDER_ENROLMENT_PENDING: { actor: 'MANUFACTURER', retryable: true },
  PACK_NOT_OFFERED: { actor: 'OPERATOR', retryable: false },
  ACTIVATION_REJECTED: { actor: 'MANUFACTURER', retryable: false },
  LICENCE_EXPIRED: { actor: 'OPERATOR', retryable: false },
  ACCESS_REVOKED: { actor: 'MANUFACTURER', retryable: false },
  WAITING_FOR_GAP: { actor: 'NONE', retryable: true },
  END_NOT_CONFIRMED: { actor: 'MANUFACTURER', retryable: true },
  CANCELLATION_NOT_SUPPORTED: { actor: 'MANUFACTURER', retryable: true },
} as const;
type ReasonCode = keyof typeof causes;
export const reasonCodes = Object.keys(causes) as [ReasonCode, ...ReasonCode[]];

/** Why an answer is what it is. `code` is ours and stable; `message` is for people; `actor` can do something about it. */
export interface Reason {
  code: ReasonCode;
  message: string;
  actor: 'CUSTOMER' | 'DRIVER' | 'MANUFACTURER' | 'OPERATOR' | 'NONE';
  retryable: boolean;
}

export const reason = (code: ReasonCode, message: string): Reason => ({ code, message, ...causes[code] });

export type DataDelivery = 'PULL' | 'PUSH';
export type ConnectivityStatus = 'ACTIVATED' | 'DEACTIVATED' | 'UNKNOWN';

export interface Answered {
  outcome: 'ANSWERED';
  eligible: boolean;
  dataDelivery: DataDelivery[];
  connectivityStatus: ConnectivityStatus | null;
  primaryUserAssigned: boolean | null;
  reason: Reason | null;
  /** The answer as it came, kept for support; never logged. */
  raw: unknown;
}

/** In answers about programs: whether the provider said how the program stood, and whether it was told to change it. */
type OfProgram = { looked?: boolean; ordered?: boolean };

/** No answer, but there may be one later. `retryAfter` is in seconds: what the provider named, or what we know. */
export interface NoAnswer extends OfProgram {
  outcome: 'NO_ANSWER';
  /** null: its turn did not come, and the vehicle keeps its reason. */
  reason: Reason | null;
  retryAfter?: number | undefined;
  /** false: nothing was sent (a pause, an open circuit, too little time left), so no attempt was spent. */
  asked: boolean;
  raw: unknown;
}

/** The answer where nothing is sent, and may be after so many seconds. */
export const notAsked = (retryAfter: number, reason: Reason | null = null): NoAnswer => ({
  ...{ outcome: 'NO_ANSWER', asked: false, raw: null },
  reason,
  retryAfter,
});

export type ProviderAnswer =
  | Answered
  /** The provider does not serve this brand after all: the next candidate is asked. */
  | { outcome: 'BRAND_REFUSED'; raw: unknown }
  /** An answer that asking again will not change. */
  | { outcome: 'FAILED'; reason: Reason; raw: unknown }
  | NoAnswer;

/** The state of calls to a provider, or about one of its brands; times are null when there is nothing to wait for. */
export interface CircuitState {
  /** CLOSED: calls go through. OPEN: they fail at once until `probeAt`. PROBING: one call is finding out. */
  breaker: 'CLOSED' | 'OPEN' | 'PROBING';
  since: Date | null;
  probeAt: Date | null;
  reason: Reason | null;
}

/** `since` may also be when a pause began that the provider asked for. */
export interface ProviderState extends CircuitState {
  pausedUntil: Date | null;
  /** The brands that are held back though the provider is not. */
  brands: ({ id: string } & CircuitState)[];
  /** Nothing about these brands (null: any) is worth claiming for so many seconds. */
  holds: { brand: string | null; seconds: number; reason: Reason }[];
}

/** The company for which a vehicle is asked about, and the deadline (ms since 1970) of the whole question. */
export interface Asker {
  company: string;
  deadline: number;
  /** The deadline of questions that change nothing, where others follow from them. */
  looksEnd?: number;
}

/** The id of the provider whose answers are invented. */
export const SANDBOX = 'sandbox';

/** Knows whether vehicles may join the connected-data program of their manufacturer. `verify` never throws: it answers. */
export interface Provider {
  readonly id: string;
  readonly brands: ReadonlySet<string>;
  /** The provider of a brand with the highest answers for it: 1 for a manufacturer's own service, 0 for one of several. */
  readonly preference: number;
  readonly capacity: Places;
  verify(vin: string, brand: string, asker?: Asker): Promise<ProviderAnswer>;
  /** The brand by which a brand is asked about, if that may be another. */
  askedAs?(brand: string): string;
  /** Carries out contracts, if the provider does more than answer about eligibility. */
  readonly activator?: Activator;
  state(): ProviderState;
  /** Ends the connections; calls still under way answer NO_ANSWER. */
  close(): Promise<void>;
}

/** The program that a provider is to begin or to end for a vehicle. */
export interface ProgramWish {
  vin: string;
  brand: string;
  program: string;
  wanted: boolean;
  /** Whether the provider may have been asked for the program before. */
  asked: boolean;
  /** Whether the program is to be begun, or ended, whatever the provider's list says: the wish is new. */
  renewed: boolean;
  /** Whether the wish is new, and a process that was to order it was lost: what the list says of the time since then stands. */
  repeated: boolean;
  /** The program's state by the last answer, since when (in ms since 1970) it is so or is not wanted, and when it was last to be ended. */
  state: 'PENDING' | 'ACTIVE' | 'REJECTED' | 'FAILED' | 'ENDING' | 'ENDED';
  reason: Reason | null;
  since: number;
  endedAt: number | null;
  /** When the provider last said how the program stands, whatever followed from that. */
  lookedAt: number | null;
}

/** How a program stands at the provider. ENDED: it is not active, and nothing has to be ended. */
export interface ProgramAnswer extends OfProgram {
  outcome: 'STANDS';
  state: ProgramWish['state'];
  reason: Reason | null;
  /** The answer as it came, kept for support; never logged. */
  raw: unknown;
  /** Whether the state may still prove wrong: some questions more decide. */
  inDoubt?: boolean;
  /** The brand by which the provider was asked. */
  brand?: string | undefined;
  /** When what is under way was ordered, whoever did (ms since 1970): what becomes of it answers the wish. */
  orderedAt?: number | null;
}

export type WishAnswer = ProgramAnswer | NoAnswer;

/** A program that is on at a provider or about to be, whoever wants it, with the provider's word for its state. */
export type ListedProgram = Pick<ProgramWish, 'vin' | 'brand' | 'program'> & { status: string };

/** Begins and ends the programs of vehicles at a manufacturer. */
export interface Activator {
  /** The service whose state says how the activator is (service-health.ts). */
  readonly service: 'CLEARANCES' | 'ORDERS';
  readonly brands: ReadonlySet<string>;
  /** The programs of each pack; those of `*` are for packs that are not listed. */
  readonly packs: Readonly<Record<string, readonly string[]>>;
  /** Seconds until a program without a decision is looked at again, by the number of looks; the last one for all others. */
  readonly lookDelays: readonly number[];
  /** Brings each program one step nearer to what is wanted. Never throws: it answers each wish, in order. */
  activate(wishes: readonly ProgramWish[], asker: Asker): Promise<WishAnswer[]>;
  /** Whether a vehicle was refused for the brand by which it was asked for, and may be asked for by another. */
  isMisnamed?(refused: Pick<ProgramWish, 'vin' | 'brand' | 'reason'>): boolean;
  /** All programs that are on, or about to be, some at a time. Throws an error for operators where they cannot be read. */
  list(): AsyncIterable<readonly ListedProgram[]>;
}

/** Reads an answer about this VIN; an answer that names none counts. Gives BAD_ANSWER for one that cannot be read. */
export function readAnswer<T>(
  schema: z.ZodType<T>,
  body: unknown,
  vin: string,
  answered: (facts: T) => Pick<Answered, 'eligible' | 'reason'> & Partial<Answered>,
): ProviderAnswer {
  const named = typeof body === 'object' && body !== null && 'vin' in body ? body.vin : null;
  const isAbout = named === null || (typeof named === 'string' && named.trim().toUpperCase() === vin);
  // An answer about another vehicle is not kept with this one.
  if (!isAbout) return new ProviderError('BAD_ANSWER', { raw: { fault: 'about another VIN' } }).answer;
  const { data } = schema.safeParse(body);
  if (!data) return new ProviderError('BAD_ANSWER', { raw: body }).answer;
  return { ...unknowns, outcome: 'ANSWERED', raw: body, ...answered(data) };
}

export const unknowns = { dataDelivery: [], connectivityStatus: null, primaryUserAssigned: null };

type Concern = 'CALL' | 'BRAND' | 'PROVIDER';

/** The ways in which an upstream fails, and whose circuit breaker they open: that of the brand or of the whole provider. */
const kinds = {
  TIMEOUT: ['BRAND', 'did not answer in time.'],
  UNREACHABLE: ['BRAND', 'could not be reached.'],
  ERROR: ['BRAND', 'reported a fault of its own.'],
  BAD_ANSWER: ['BRAND', 'gave an unreadable answer.'],
  BUSY: ['CALL', 'asked us to come back later.'],
  CREDENTIALS: ['PROVIDER', 'refused this gateway’s credentials; its operator must check them.'],
  UNEXPECTED: ['CALL', 'answered in a way this gateway does not know; its operator must look into it.'],
} as const satisfies Record<string, readonly [concerns: Concern, did: string]>;

export type ProviderErrorKind = keyof typeof kinds;

/** The reason that a vehicle shows while this keeps it from being verified. */
export const reasonOf = (kind: ProviderErrorKind): Reason =>
  reason(`PROVIDER_${kind}`, `The manufacturer’s service ${kinds[kind][1]}`);

type ProviderErrorOptions = Partial<Pick<NoAnswer, 'retryAfter' | 'asked' | 'raw'>> & { concerns?: Concern };

/** An upstream did not answer. Its text never holds a VIN, a token or a secret. */
export class ProviderError extends Error {
  readonly kind: ProviderErrorKind;
  readonly answer: NoAnswer;
  concerns: Concern;

  constructor(kind: ProviderErrorKind, { retryAfter, asked = true, raw = null, concerns }: ProviderErrorOptions = {}) {
    const reason = reasonOf(kind);
    super(reason.message);
    this.kind = kind;
    this.concerns = concerns ?? kinds[kind][0];
    this.answer = { outcome: 'NO_ANSWER', reason, retryAfter, asked, raw };
  }
}
