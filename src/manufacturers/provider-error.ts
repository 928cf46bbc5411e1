import type { Actor, NoAnswer, Reason } from './provider.ts';

type Concern = 'CALL' | 'BRAND' | 'PROVIDER';

/**
 * Every way an upstream can fail to answer, and whom it concerns: a row of errors that concern the brand, or the whole
 * provider, opens its circuit breaker.
 */
const kinds = {
  TIMEOUT: { actor: 'MANUFACTURER', concerns: 'BRAND', message: 'The manufacturer’s service did not answer in time.' },
  UNREACHABLE: {
    actor: 'MANUFACTURER',
    concerns: 'BRAND',
    message: 'The manufacturer’s service could not be reached.',
  },
  ERROR: {
    actor: 'MANUFACTURER',
    concerns: 'BRAND',
    message: 'The manufacturer’s service reported a fault of its own.',
  },
  BAD_ANSWER: {
    actor: 'MANUFACTURER',
    concerns: 'BRAND',
    message: 'The manufacturer’s service gave an unreadable answer.',
  },
  BUSY: { actor: 'MANUFACTURER', concerns: 'CALL', message: 'The manufacturer’s service asked us to come back later.' },
  CREDENTIALS: {
    actor: 'OPERATOR',
    concerns: 'PROVIDER',
    message: 'The manufacturer’s service refused this gateway’s credentials; its operator must check them.',
  },
  UNEXPECTED: {
    actor: 'OPERATOR',
    concerns: 'CALL',
    message: 'The manufacturer’s service answered in a way this gateway does not know; its operator must look into it.',
  },
} as const satisfies Record<string, { actor: Actor; concerns: Concern; message: string }>;

export type ProviderErrorKind = keyof typeof kinds;

/** The reason that a vehicle shows while this keeps it from being verified. */
export function reasonOf(kind: ProviderErrorKind): Reason {
  const { actor, message } = kinds[kind];
  return { code: `PROVIDER_${kind}`, message, actor, retryable: true };
}

interface Circumstances {
  retryAfter?: number | undefined;
  asked?: boolean;
  raw?: unknown;
  concerns?: Concern;
}

/** An upstream did not answer. Its text never holds a VIN, a token or a secret. */
export class ProviderError extends Error {
  readonly kind: ProviderErrorKind;
  readonly answer: NoAnswer;
  concerns: Concern;

  constructor(kind: ProviderErrorKind, { retryAfter, asked = true, raw = null, concerns }: Circumstances = {}) {
    super(kinds[kind].message);
    this.kind = kind;
    this.concerns = concerns ?? kinds[kind].concerns;
    this.answer = { outcome: 'NO_ANSWER', reason: reasonOf(kind), retryAfter, asked, raw };
  }
}
