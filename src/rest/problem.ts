import type { DomainError, ErrorCode } from '../core/errors.ts';
import { statusOf } from '../http/body.ts';

/** Titles for codes that read badly as words. */
const titles: Partial<Record<ErrorCode, string>> = {
  MALFORMED_JSON: 'The body is not JSON',
  INTERNAL: 'Something went wrong on our side',
};

const internal = {
  code: 'INTERNAL',
  message: 'The fault has been logged with this request id. Nothing of your request was lost that was answered before.',
  errors: undefined,
  errorsOmitted: 0,
  details: {},
} as const;

/** An error as RFC 9457 wants it; null is a fault of the service. */
export function problemOf(error: DomainError | null, requestId: string) {
  const { code, message, errors, errorsOmitted, details } = error ?? internal;
  return {
    type: 'about:blank',
    title: titles[code] ?? code[0] + code.slice(1).toLowerCase().replaceAll('_', ' '),
    status: statusOf[code],
    detail: message,
    code,
    requestId,
    ...(errors?.length && { errors }),
    ...(errorsOmitted > 0 && { errorsOmitted }),
    ...details,
  };
}
