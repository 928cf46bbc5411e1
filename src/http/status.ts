import { type DomainError, type ErrorCode, Forbidden, MethodNotAllowed, Unauthenticated } from '../core/errors.ts';
import { challenge } from './identity/challenge.ts';

/** The HTTP status of every error. */
export const statusOf: Readonly<Record<ErrorCode, number>> = {
  VALIDATION_FAILED: 400,
  MALFORMED_JSON: 400,
  FLEET_ID_MISSING: 400,
  NOTHING_TO_DELETE: 400,
  NOTHING_TO_MOVE: 400,
  MANUFACTURER_NOT_SUPPORTED: 400,
  COST_EXCEEDED: 400,
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
  IDEMPOTENCY_IN_PROGRESS: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
};

/** The headers that belong to an error. */
export function headersOf(error: DomainError): Record<string, string> {
  return {
    ...(error.retryAfter !== undefined && { 'Retry-After': String(error.retryAfter) }),
    ...((error instanceof Unauthenticated || error instanceof Forbidden) && { 'WWW-Authenticate': challenge(error) }),
    ...(error instanceof MethodNotAllowed && { Allow: error.allow.join(', ') }),
  };
}
