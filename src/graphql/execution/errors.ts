import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import type { Context } from '../../core/context.ts';
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

/** An operation's answer, as far as errors are concerned. */
export interface Result {
  data?: unknown;
  extensions?: Readonly<Record<string, unknown>>;
  errors?: readonly GraphQLError[] | undefined;
}

/** A document that GraphQL itself would let pass: 400 in every form of answer, unlike what GraphQL rejects. */
export class RejectedDocument extends GraphQLError {
  constructor(message: string) {
    super(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } });
  }
}

/** The errors an answer may have; the others are counted in `extensions.errorsOmitted`, and not in the log. */
export const MOST_ERRORS = 10;

/**
 * The answer with its errors as callers may see them: known ones with their code, others masked and logged. Each has the
 * request id. Where nothing could be answered, the HTTP status says why as well.
 */
function withWireErrors<R extends Result>(result: R, requestId: string, log: Logger): R {
  if (!result.errors?.length) return result;
  const answered = Object.values(result.data ?? {}).some((value) => value != null);
  const errorsOmitted = result.errors.length - MOST_ERRORS;
  return {
    ...result,
    ...(errorsOmitted > 0 && { extensions: { ...result.extensions, errorsOmitted } }),
    errors: result.errors.slice(0, MOST_ERRORS).map((error) => wireError(error, { answered, requestId, log })),
  };
}

/** The context that decides how much of an error its caller sees, and the answer that notes its code. */
export interface Shown {
  ctx: Context;
  res: AnswerHead;
  log: Logger;
}

/** The result with its errors as the caller may see them; their codes are noted for the log. */
export function shownResult<R extends Result>(result: R, { ctx, res, log }: Shown): R {
  if (!result.errors?.length) return result;
  const told = ctx.services.config.INTROSPECTION ? result : { ...result, errors: result.errors.map(withoutHint) };
  const wired = withWireErrors(told, ctx.requestId, log);
  noteCode(res, wired.errors);
  return wired;
}

/** The result as it is sent: what errors say of the HTTP answer is for those who write one. */
export function sentResult<R extends Result>({ errors, ...result }: R): Omit<R, 'errors'> & Result {
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

/** graphql-js names what comes close to a wrong name: by and by, that tells the whole schema. */
function withoutHint(error: GraphQLError): GraphQLError {
  const message = error.message.replaceAll(/ Did you mean [^?]*(?:\?|$)/g, '');
  return message === error.message ? error : new GraphQLError(message, error);
}

/** Notes the code of the first error for the request's line in the log. */
function noteCode(res: AnswerHead, errors: readonly { extensions: object }[] | undefined): void {
  const { code } = (errors?.[0]?.extensions ?? {}) as { code?: unknown };
  if (code !== undefined) localsOf(res).code ??= String(code);
}

/** The result where something went wrong before the operation began. */
export function earlyResult(cause: Error, res: AnswerHead, log: Logger): { errors: readonly GraphQLError[] } {
  const error = new GraphQLError(cause.message, { originalError: cause });
  const { errors } = withWireErrors({ errors: [error] }, localsOf(res).requestId, log);
  noteCode(res, errors);
  return { errors };
}

interface Situation {
  answered: boolean;
  requestId: string;
  log: Logger;
}

function wireError(error: GraphQLError, { answered, requestId, log }: Situation): GraphQLError {
  const origin = originOf(error);
  // Errors of an execution have a path; others came up before it.
  const early = error.path === undefined;
  const domainError =
    domainErrorOf(origin) ?? (early && origin instanceof SyntaxError ? new MalformedJson(notJson) : null);
  if (domainError) {
    if (domainError.code === 'UNAVAILABLE') log.warn({ requestId, err: domainError.cause }, domainError.message);
    const http = error.extensions.http ?? { status: statusOf[domainError.code], headers: headersOf(domainError) };
    const tellByStatus = early || (!answered && domainError.code === 'UNAVAILABLE');
    return rewritten(error, domainError.message, {
      ...domainExtensions(domainError, requestId),
      ...(tellByStatus && { http }),
    });
  }
  if (origin instanceof GraphQLError && (early || origin.nodes)) return rejectedByGraphql(error, origin, requestId);
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
const notJson = 'The request is not JSON.';

/** The error for a request that GraphQL or Yoga reject: its document, its variables or its form. */
function rejectedByGraphql(error: GraphQLError, origin: GraphQLError, requestId: string): GraphQLError {
  const { code, originalError, ...extensions } = error.extensions as {
    code?: string;
    http?: Http;
    originalError?: unknown;
  };
  // Yoga marks whatever onParse throws as its own.
  if (origin instanceof RejectedDocument)
    return rewritten(error, error.message, { code, requestId, http: { status: 400 } });
  const http = extensions.http ?? (error.path === undefined ? { status: 400, spec: true } : undefined);
  if (keptCodes.has(code)) return rewritten(error, error.message, { code, requestId, http });
  if (code && originalError) {
    return rewritten(error, notJson, { code: 'MALFORMED_JSON', requestId, http: { status: statusOf.MALFORMED_JSON } });
  }
  return rewritten(error, error.message, { code: codeByStatus[http?.status ?? 400], requestId, http });
}

/** A copy of the error at its place, with another message and other extensions. */
export function rewritten(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
