/** Every error code with its HTTP status. Wire names: clients branch on them, so they never change. */
export const statusOf = {
  VALIDATION_FAILED: 400,
  MALFORMED_JSON: 400,
  FLEET_ID_MISSING: 400,
  NOTHING_TO_DELETE: 400,
  NOTHING_TO_MOVE: 400,
  MANUFACTURER_NOT_SUPPORTED: 400,
  COST_EXCEEDED: 400,
  COLUMN_NOT_FOUND: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  FLEET_NOT_FOUND: 404,
  VEHICLE_NOT_FOUND: 404,
  CONTRACT_NOT_FOUND: 404,
  IMPORT_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  ELIGIBILITY_IN_PROGRESS: 409,
  CONTRACT_OVERLAP: 409,
  CONTRACT_NOT_BEGUN: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  IDEMPOTENCY_ANSWER_GONE: 410,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  COMPANY_ELSEWHERE: 421,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const;
export type ErrorCode = keyof typeof statusOf;

/** One error of an input; `path` is dotted, as in `vins.3` or `email`. */
export type InputError = { path: string; code: string; message: string };

/** An error the caller may read: `message` is written for them, `details` are extra members of the error body. */
export abstract class DomainError extends Error {
  abstract readonly code: ErrorCode;
  /** Seconds after which trying again makes sense; becomes `Retry-After`. */
  readonly retryAfter: number | undefined = undefined;
  readonly errors: readonly InputError[] | undefined = undefined;
  /** The number of errors that are not in `errors`. */
  readonly errorsOmitted: number = 0;
  readonly details: Readonly<Record<string, unknown>> = {};

  constructor(message: string, members: Members = {}) {
    super(message, members);
    Object.assign(this, members);
  }
}

type Members = ErrorOptions & Partial<Pick<DomainError, 'retryAfter' | 'errors' | 'errorsOmitted' | 'details'>>;

const withCode = <const Code extends ErrorCode>(code: Code) =>
  class extends DomainError {
    readonly code = code;
  };

/** A class of errors with a default message. */
const withMessage = <const Code extends ErrorCode>(code: Code, text: string, members?: Members) =>
  class extends withCode(code) {
    constructor(message = text) {
      super(message, members);
    }
  };

/** An input can have more errors than a person reads, and an error costs more to write than a value to send. */
export const MOST_INPUT_ERRORS = 100;

export class ValidationFailed extends withCode('VALIDATION_FAILED') {
  declare readonly errors: readonly InputError[];
  /** `omitted` errors are in no list; those beyond the first hundred of `errors` are added. */
  constructor(errors: readonly InputError[], message = '', details: DomainError['details'] = {}, omitted = 0) {
    const listed = errors.slice(0, MOST_INPUT_ERRORS);
    const errorsOmitted = omitted + errors.length - listed.length;
    super(message || summarise(errors, omitted), { errors: listed, errorsOmitted, details });
  }
}

function summarise(errors: readonly InputError[], omitted: number): string {
  const [first] = errors;
  if (!first) return 'The request is not valid.';
  const place = first.path ? `${first.path}: ${first.message}` : first.message.replace(/^(?=is |must )/, 'The body ');
  const others = errors.length - 1 + omitted;
  return others === 0 ? place : `${place} (and ${others} more)`;
}

export class FleetIdMissing extends withMessage(
  'FLEET_ID_MISSING',
  'Name the fleet by "fleetId": a field of the form or of the input that has the file, or ?fleetId= in the address.',
) {}

export class NothingToDelete extends withMessage(
  'NOTHING_TO_DELETE',
  'Name the vehicles to delete: "ids", "vins" or both must hold at least one value.',
) {}

export class NothingToMove extends withMessage(
  'NOTHING_TO_MOVE',
  'Name the vehicles to move: "ids", "vins" or both must hold at least one value.',
) {}

export class ManufacturerNotSupported extends withCode('MANUFACTURER_NOT_SUPPORTED') {
  constructor(manufacturer: string | null) {
    super(
      manufacturer
        ? `No configured provider answers for the manufacturer "${manufacturer}". The operator can configure one.`
        : 'This VIN names no known manufacturer, so nobody can be asked. Check the VIN.',
    );
  }
}

/** A file without the column that was named. */
export class ColumnNotFound extends withCode('COLUMN_NOT_FOUND') {
  constructor(message: string, details: DomainError['details']) {
    super(message, { errors: [{ path: 'column', code: 'COLUMN_NOT_FOUND', message }], details });
  }
}

/** `reason` is null when nothing was sent: RFC 6750 then wants no error code in the challenge. */
export class Unauthenticated extends withCode('UNAUTHENTICATED') {
  readonly reason: 'invalid_token' | null;
  constructor(message: string, reason: 'invalid_token' | null = 'invalid_token') {
    super(message);
    this.reason = reason;
  }
}

export class Forbidden extends withCode('FORBIDDEN') {
  /** The scope that is missing, for the challenge of RFC 6750. */
  readonly scope: string | undefined;
  constructor(message: string, scope?: string) {
    super(message);
    this.scope = scope;
  }
}

export class NotFound extends withCode('NOT_FOUND') {}
export class MalformedJson extends withCode('MALFORMED_JSON') {}
export class PayloadTooLarge extends withCode('PAYLOAD_TOO_LARGE') {}
export class UnsupportedMediaType extends withCode('UNSUPPORTED_MEDIA_TYPE') {}
/** An operation of GraphQL whose answer is too large, or a read that takes too long. */
export class CostExceeded extends withCode('COST_EXCEEDED') {}

export class FleetNotFound extends withMessage('FLEET_NOT_FOUND', 'There is no fleet with this id.') {}
export class VehicleNotFound extends withMessage('VEHICLE_NOT_FOUND', 'There is no vehicle with this id.') {}
export class ContractNotFound extends withMessage('CONTRACT_NOT_FOUND', 'There is no contract with this id.') {}
export class ImportNotFound extends withMessage('IMPORT_NOT_FOUND', 'There is no import with this id.') {}
export class WebhookNotFound extends withMessage('WEBHOOK_NOT_FOUND', 'There is no webhook with this id.') {}

export class ContractNotBegun extends withMessage(
  'CONTRACT_NOT_BEGUN',
  'The contract has not begun, so it cannot end: delete it.',
) {}

export class MethodNotAllowed extends withCode('METHOD_NOT_ALLOWED') {
  readonly allow: readonly string[];
  constructor(method: string, allow: readonly string[], hint = '') {
    super(`${method} does nothing at this address, which knows ${allow.join(', ')}.${hint}`);
    this.allow = allow;
  }
}

export class EligibilityInProgress extends withCode('ELIGIBILITY_IN_PROGRESS') {
  constructor(vin: string, retryAfter: number, details: Record<string, unknown>) {
    super(`The manufacturer has not answered yet for ${vin}. Ask again in ${retryAfter} s.`, { retryAfter, details });
  }
}

export class ContractOverlap extends withCode('CONTRACT_OVERLAP') {
  constructor(conflicts: readonly string[]) {
    super(
      'This vehicle already has a contract for this pack in an overlapping period. Choose another period, or delete the other contract.',
      { details: { conflicts } },
    );
  }
}

export class PreconditionFailed extends withMessage(
  'PRECONDITION_FAILED',
  'The resource has changed since you read it. Read it again, and see whether your change is still right.',
) {}

/** Whether the locked row is still as its caller expects. */
export type Precondition<T> = ((current: T) => boolean) | undefined;

export function requirePrecondition<T>(current: T, expected: Precondition<T>): void {
  if (expected && !expected(current)) throw new PreconditionFailed();
}

/** `address` is public: clients whose company no proxy sees go there. */
export class CompanyElsewhere extends withCode('COMPANY_ELSEWHERE') {
  declare readonly details: { installation: string; address: string };
  constructor(installation: string, address: string) {
    super(`This company is in another installation, at ${address}.`, { details: { installation, address } });
  }
}

export class IdempotencyKeyReused extends withMessage(
  'IDEMPOTENCY_KEY_REUSED',
  'This Idempotency-Key was used before with another request. Use a new key for a new request.',
) {}

export class IdempotencyAnswerGone extends withMessage(
  'IDEMPOTENCY_ANSWER_GONE',
  'The request with this Idempotency-Key was answered before, and is not done again. Its answer is no longer kept: read what it changed.',
) {}

export class IdempotencyInProgress extends withMessage(
  'IDEMPOTENCY_IN_PROGRESS',
  'The first request with this Idempotency-Key is still running. Try again when it has ended.',
  { retryAfter: 1 },
) {}

export class RateLimited extends withCode('RATE_LIMITED') {
  constructor(retryAfter: number, message = `Too many requests for this company. Try again in ${retryAfter} s.`) {
    super(message, { retryAfter });
  }
}

export class Unavailable extends withCode('UNAVAILABLE') {
  constructor(message: string, retryAfter = 2, options?: ErrorOptions) {
    super(message, { retryAfter, ...options });
  }
}
