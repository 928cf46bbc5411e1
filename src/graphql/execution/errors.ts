import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { domainErrorOf } from '../../core/database-errors.ts';
import { type DomainError, MalformedJson } from '../../core/errors.ts';
import { headersOf, statusOf } from '../../http/body.ts';
import { type AnswerHead, localsOf } from '../../http/request-context.ts';

/** Status and headers that Yoga takes from an error. With `spec` the status stays 200 for `application/json`. */
interface Http {
  status: number;
  headers?: Record<string, string>;
  spec?: boolean;
}

/** The error of a document that GraphQL itself would let pass: 400 in every form of answer, unlike what GraphQL rejects. */
export const rejectedDocument = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400 } } });

/** The errors an answer may have; the others are counted in `extensions.errorsOmitted`, and not in the log. */
export const MOST_ERRORS = 10;

/** The answer that errors are shown in. */
export interface Shown {
  /** Its `locals` have the request id, and get the code of the first error for the log. */
  res: AnswerHead;
  log: Logger;
  /** Whether a wrong name is answered with those that come close: by and by, that tells the whole schema. */
  hints: boolean;
}

/**
 * The result with its errors as callers may see them: known ones with their code, others masked and logged. Each has the
 * request id. Where nothing could be answered, the HTTP status says why as well.
 */
export function shownResult(result: ExecutionResult, shown: Shown): ExecutionResult {
  if (!result.errors?.length) return result;
  const answered = Object.values(result.data ?? {}).some((value) => value != null);
  const errors = result.errors.slice(0, MOST_ERRORS).map((error) => wireError(error, answered, shown));
  const code = errors[0]?.extensions.code;
  if (code !== undefined) localsOf(shown.res).code ??= String(code);
  const errorsOmitted = result.errors.length - MOST_ERRORS;
  return {
    ...result,
    ...(errorsOmitted > 0 && { extensions: { ...result.extensions, errorsOmitted } }),
    errors,
  };
}

/** The result of what could not be run at all. */
export const refusal = (error: Error, shown: Shown): ExecutionResult =>
  shownResult(
    { errors: [error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error })] },
    shown,
  );

/** The result as it is sent: what errors say of the HTTP answer is for those who write one. */
export function sentResult({ errors, ...result }: ExecutionResult): ExecutionResult {
  if (!errors) return result;
  const sent = errors.map((error) => {
    const { http: _, ...extensions } = error.extensions;
    return rewritten(error, error.message, extensions);
  });
  return { errors: sent, ...result };
}

/** Status and headers of the HTTP answer for these errors, by the rules of GraphQL over HTTP, which differ for `application/json`. */
export function httpOf(errors: readonly GraphQLError[] = [], type: string): Http {
  const answer = { status: 200, headers: {} };
  for (const { extensions } of errors) {
    const http = extensions.http as Http | undefined;
    Object.assign(answer.headers, http?.headers);
    if (http && !(http.spec && type === 'application/json')) answer.status = Math.max(answer.status, http.status);
  }
  return answer;
}

function wireError(error: GraphQLError, answered: boolean, { res, log, hints }: Shown): GraphQLError {
  const { requestId } = localsOf(res);
  const origin = originOf(error);
  // Errors of an execution have a path; others came up before it.
  const early = error.path === undefined;
  const domainError =
    domainErrorOf(origin) ??
    (early && origin instanceof SyntaxError ? new MalformedJson('The request is not JSON.') : null);
  if (domainError) {
    if (domainError.code === 'UNAVAILABLE') log.warn({ requestId, err: domainError.cause }, domainError.message);
    const http = error.extensions.http ?? { status: statusOf[domainError.code], headers: headersOf(domainError) };
    const tellByStatus = early || (!answered && domainError.code === 'UNAVAILABLE');
    return rewritten(error, domainError.message, {
      ...domainExtensions(domainError, requestId),
      ...(tellByStatus && { http }),
    });
  }
  if (origin instanceof GraphQLError && (early || origin.nodes)) return rejectedByGraphql(error, hints, requestId);
  log.error({ requestId, err: origin }, 'request failed');
  return rewritten(error, 'Something went wrong on our side. The fault has been logged with this request id.', {
    code: 'INTERNAL',
    requestId,
    ...(early && { http: { status: statusOf.INTERNAL } }),
  });
}

const domainExtensions = ({ code, errors, errorsOmitted, details }: DomainError, requestId: string) => ({
  ...details,
  code,
  requestId,
  ...(errors && { errors }),
  ...(errorsOmitted > 0 && { errorsOmitted }),
});

/** The original error, which GraphQL wraps to add its place. */
function originOf(error: GraphQLError): Error {
  let origin: Error = error;
  while (origin instanceof GraphQLError && origin.originalError) origin = origin.originalError;
  return origin;
}

/** Yoga's own codes by the status it gives them. */
const codeByStatus: Readonly<Record<number, string>> = {
  400: 'VALIDATION_FAILED',
  405: 'METHOD_NOT_ALLOWED',
  413: 'PAYLOAD_TOO_LARGE',
};
const keptCodes = new Set<unknown>([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** The error for a request that GraphQL or Yoga reject: its document, its variables or its form. */
function rejectedByGraphql(error: GraphQLError, hints: boolean, requestId: string): GraphQLError {
  const { code, http: own } = error.extensions as { code?: string; http?: Http };
  const http = own ?? (error.path === undefined ? { status: 400, spec: true } : undefined);
  const message = hints ? error.message : error.message.replaceAll(/ Did you mean [^?]*(?:\?|$)/g, '');
  const known = keptCodes.has(code) ? code : codeByStatus[http?.status ?? 400];
  return rewritten(error, message, { code: known, requestId, http });
}

/** The error with this code. */
export const withCode = (error: GraphQLError, code: string): GraphQLError => rewritten(error, error.message, { code });

/** A copy of the error at its place, with another message and other extensions. */
function rewritten(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
