import type { DomainError, ErrorCode } from '../core/errors.ts';
import { statusOf } from '../http/body.ts';

/** Titles for codes that read badly as words. */
const titles: Partial<Record<ErrorCode, string>> = {
  MALFORMED_JSON: 'The body is not JSON',
  INTERNAL: 'Something went wrong on our side',
};

/** An error as RFC 9457 wants it. */
export function problemOf(error: DomainError, requestId: string): Record<string, unknown> {
  return {
    type: 'about:blank',
    title: titles[error.code] ?? titleOf(error.code),
    status: statusOf[error.code],
    detail: error.message,
    code: error.code,
    requestId,
    ...(error.errors?.length && { errors: error.errors }),
    ...(error.errorsOmitted > 0 && { errorsOmitted: error.errorsOmitted }),
    ...error.details,
  };
}

/** An error of our own: the log has its text, the caller has the id to ask about it. */
export const internalProblem = (requestId: string): Record<string, unknown> => ({
  type: 'about:blank',
  title: titles.INTERNAL,
  status: statusOf.INTERNAL,
  detail: 'The fault has been logged with this request id. Nothing of your request was lost that was answered before.',
  code: 'INTERNAL',
  requestId,
});

const titleOf = (code: string): string => code[0] + code.slice(1).toLowerCase().replaceAll('_', ' ');
