import type { ErrorCode } from './error-codes.ts';

export type { ErrorCode } from './error-codes.ts';

/** One error of an input; `path` is dotted, as in `vins.3` or `email`. */
export interface InputError {
  path: string;
  code: string;
  message: string;
}

/** An error the caller may read: `message` is written for them, `details` are extra members of the error body. */
export abstract class DomainError extends Error {
  abstract readonly code: ErrorCode;
  /** Seconds after which trying again makes sense; becomes `Retry-After`. */
  readonly retryAfter: number | undefined = undefined;
  readonly errors: readonly InputError[] | undefined = undefined;
  /** How many errors there are beside those in `errors`. */
  readonly errorsOmitted: number = 0;
  readonly details: Readonly<Record<string, unknown>> = {};
}

/** An input can be wrong in more places than anybody reads, and each place costs more to name than to send. */
export const MOST_INPUT_ERRORS = 100;

export class ValidationFailed extends DomainError {
  readonly code = 'VALIDATION_FAILED';
  override readonly errors: readonly InputError[];
  override readonly errorsOmitted: number;
  override readonly details: Readonly<Record<string, unknown>>;
  /** `omitted` are errors that stand in no list; those beyond the first hundred of `errors` are added. */
  constructor(
    errors: readonly InputError[],
    message = '',
    details: Readonly<Record<string, unknown>> = {},
    omitted = 0,
  ) {
    super(message || summarise(errors, omitted));
    this.errors = errors.slice(0, MOST_INPUT_ERRORS);
    this.errorsOmitted = omitted + errors.length - this.errors.length;
    this.details = details;
  }
}

function summarise(errors: readonly InputError[], omitted: number): string {
  const [first] = errors;
  if (!first) return 'The request is not valid.';
  const place = first.path ? `${first.path}: ${first.message}` : first.message;
  const others = errors.length - 1 + omitted;
  return others === 0 ? place : `${place} (and ${others} more)`;
}

export class MalformedJson extends DomainError {
  readonly code = 'MALFORMED_JSON';
}

export class FleetIdMissing extends DomainError {
  readonly code = 'FLEET_ID_MISSING';
  constructor() {
    super('Name the fleet: a form field "fleetId" must come with the file, or ?fleetId= in the address.');
  }
}

export class NothingToDelete extends DomainError {
  readonly code = 'NOTHING_TO_DELETE';
  constructor() {
    super('Name the vehicles to delete: "ids", "vins" or both must hold at least one value.');
  }
}

export class NothingToMove extends DomainError {
  readonly code = 'NOTHING_TO_MOVE';
  constructor() {
    super('Name the vehicles to move: "ids", "vins" or both must hold at least one value.');
  }
}

export class ManufacturerNotSupported extends DomainError {
  readonly code = 'MANUFACTURER_NOT_SUPPORTED';
  constructor(manufacturer: string | null) {
    super(
      manufacturer
        ? `No configured provider answers for the manufacturer "${manufacturer}".`
        : 'The manufacturer cannot be told from this VIN, so nobody can be asked.',
    );
  }
}

/** `reason` is null when nothing was sent: RFC 6750 then wants no error code in the challenge. */
export class Unauthenticated extends DomainError {
  readonly code = 'UNAUTHENTICATED';
  readonly reason: 'invalid_token' | null;
  constructor(message: string, reason: 'invalid_token' | null = 'invalid_token') {
    super(message);
    this.reason = reason;
  }
}

export class Forbidden extends DomainError {
  readonly code = 'FORBIDDEN';
  /** The scope that is missing, for the challenge of RFC 6750. */
  readonly scope: string | undefined;
  constructor(message: string, scope?: string) {
    super(message);
    this.scope = scope;
  }
}

export class FleetNotFound extends DomainError {
  readonly code = 'FLEET_NOT_FOUND';
  constructor() {
    super('There is no fleet with this id.');
  }
}

export class VehicleNotFound extends DomainError {
  readonly code = 'VEHICLE_NOT_FOUND';
  constructor(message = 'There is no vehicle with this id.') {
    super(message);
  }
}

export class ContractNotFound extends DomainError {
  readonly code = 'CONTRACT_NOT_FOUND';
  constructor() {
    super('There is no contract with this id.');
  }
}

export class ImportNotFound extends DomainError {
  readonly code = 'IMPORT_NOT_FOUND';
  constructor() {
    super('There is no import with this id.');
  }
}

export class WebhookNotFound extends DomainError {
  readonly code = 'WEBHOOK_NOT_FOUND';
  constructor() {
    super('There is no webhook with this id.');
  }
}

export class NotFound extends DomainError {
  readonly code = 'NOT_FOUND';
}

export class MethodNotAllowed extends DomainError {
  readonly code = 'METHOD_NOT_ALLOWED';
  readonly allow: readonly string[];
  constructor(method: string, allow: readonly string[], hint = '') {
    super(`${method} does nothing at this address, which knows ${allow.join(', ')}.${hint}`);
    this.allow = allow;
  }
}

export class EligibilityInProgress extends DomainError {
  readonly code = 'ELIGIBILITY_IN_PROGRESS';
  override readonly retryAfter: number;
  override readonly details: Readonly<Record<string, unknown>>;
  constructor(vin: string, retryAfter: number, details: Record<string, unknown>) {
    super(`The manufacturer has not answered yet for ${vin}. Ask again in ${retryAfter} s.`);
    this.retryAfter = retryAfter;
    this.details = details;
  }
}

export class ContractOverlap extends DomainError {
  readonly code = 'CONTRACT_OVERLAP';
  override readonly details: Readonly<Record<string, unknown>>;
  constructor(conflicts: readonly string[]) {
    super('This vehicle already has a contract for this pack in an overlapping period.');
    this.details = { conflicts };
  }
}

export class PreconditionFailed extends DomainError {
  readonly code = 'PRECONDITION_FAILED';
  constructor() {
    super('It has changed since you read it. Read it again, and see whether your change is still right.');
  }
}

/** Whether something is still what its caller takes it for; asked when it is locked, before it is changed. */
export type Expected<T> = ((current: T) => boolean) | undefined;

/** Throws PreconditionFailed for what is not as expected. */
export function needExpected<T>(current: T, expected: Expected<T>): void {
  if (expected && !expected(current)) throw new PreconditionFailed();
}

export class PayloadTooLarge extends DomainError {
  readonly code = 'PAYLOAD_TOO_LARGE';
}

export class UnsupportedMediaType extends DomainError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';
}

export class IdempotencyKeyReused extends DomainError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';
  constructor() {
    super('This Idempotency-Key was used before with another request. Use a new key for a new request.');
  }
}

export class IdempotencyInProgress extends DomainError {
  readonly code = 'IDEMPOTENCY_IN_PROGRESS';
  override readonly retryAfter = 1;
  constructor(message = 'The first request with this Idempotency-Key is still running.') {
    super(message);
  }
}

export class RateLimited extends DomainError {
  readonly code = 'RATE_LIMITED';
  override readonly retryAfter: number;
  constructor(retryAfter: number, message = `Too many requests for this company. Try again in ${retryAfter} s.`) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** A GraphQL operation whose answer is, or could be, larger than one may be; or a read that takes too long. */
export class CostExceeded extends DomainError {
  readonly code = 'COST_EXCEEDED';
}

export class Unavailable extends DomainError {
  readonly code = 'UNAVAILABLE';
  override readonly retryAfter: number;
  constructor(message: string, retryAfter = 2, options?: ErrorOptions) {
    super(message, options);
    this.retryAfter = retryAfter;
  }
}
