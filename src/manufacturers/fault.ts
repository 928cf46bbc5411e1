import type { Actor, NoAnswer } from './provider.ts';

/**
 * Every way an upstream can fail to answer. `dead` faults concern the whole upstream rather than this call: a row of
 * them opens the circuit breaker.
 */
const kinds = {
  TIMEOUT: { actor: 'MANUFACTURER', dead: true, message: 'The manufacturer’s service did not answer in time.' },
  UNREACHABLE: { actor: 'MANUFACTURER', dead: true, message: 'The manufacturer’s service could not be reached.' },
  ERROR: { actor: 'MANUFACTURER', dead: true, message: 'The manufacturer’s service reported a fault of its own.' },
  BAD_ANSWER: { actor: 'MANUFACTURER', dead: true, message: 'The manufacturer’s service gave an unreadable answer.' },
  BUSY: { actor: 'MANUFACTURER', dead: false, message: 'The manufacturer’s service asked us to come back later.' },
  CREDENTIALS: {
    actor: 'OPERATOR',
    dead: true,
    message: 'The manufacturer’s service refused this gateway’s credentials; its operator must check them.',
  },
  UNEXPECTED: {
    actor: 'OPERATOR',
    dead: false,
    message: 'The manufacturer’s service answered in a way this gateway does not know; its operator must look into it.',
  },
} as const satisfies Record<string, { actor: Actor; dead: boolean; message: string }>;

export type FaultKind = keyof typeof kinds;

interface Circumstances {
  retryAfter?: number | undefined;
  asked?: boolean;
  raw?: unknown;
}

/** An upstream did not answer. Its text never holds a VIN, a token or a secret. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly answer: NoAnswer;

  constructor(kind: FaultKind, { retryAfter, asked = true, raw = null }: Circumstances = {}) {
    const { actor, message } = kinds[kind];
    super(message);
    this.kind = kind;
    const reason = { code: `PROVIDER_${kind}`, message, actor, retryable: true };
    this.answer = { outcome: 'NO_ANSWER', reason, retryAfter, asked, raw };
  }

  get dead(): boolean {
    return kinds[this.kind].dead;
  }
}
