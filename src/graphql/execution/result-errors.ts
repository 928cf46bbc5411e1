import { type ExecutionResult, GraphQLError } from 'graphql';
import { domainErrorOf } from '../../core/database-errors.ts';
import { statusOf } from '../../core/errors.ts';
import { headersOf } from '../../http/body.ts';
import { localsOf } from '../../http/request-context.ts';
import type { ErrorContext } from '../schema/graphql-context.ts';

/** Status and headers that Yoga takes from an error. With `spec` the status stays 200 for `application/json`. */
interface Http {
  status: number;
  headers?: Record<string, string>;
  spec?: boolean;
}

/** The error of a document that only this service rejects: status 400 for every media type. */
export const rejectedDocumentError = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400 } } });

/** The most errors of an answer; the others are counted in `extensions.errorsOmitted`. */
export const MOST_ANSWER_ERRORS = 10;

/** The result with public errors: known ones with their code, others masked and logged. */
export function publicResult(result: ExecutionResult, shown: ErrorContext): ExecutionResult {
  if (!result.errors?.length) return result;
  const errors = result.errors.slice(0, MOST_ANSWER_ERRORS).map((error) => wireError(error, result.data, shown));
  const code = errors[0]?.extensions.code;
  if (code !== undefined) localsOf(shown.res).code ??= String(code);
  const errorsOmitted = result.errors.length - MOST_ANSWER_ERRORS;
  return { ...result, ...(errorsOmitted > 0 && { extensions: { ...result.extensions, errorsOmitted } }), errors };
}

export function errorResult(error: Error, shown: ErrorContext): ExecutionResult {
  const own = error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error });
  return publicResult({ errors: [own] }, shown);
}

/** The result as it is sent, without `http` of its errors. */
export function resultWithoutHttp({ errors, ...result }: ExecutionResult): ExecutionResult {
  if (!errors) return result;
  const sent = errors.map((error) => {
    const { http: _, ...extensions } = error.extensions;
    return rewritten(error, error.message, extensions);
  });
  return { errors: sent, ...result };
}

/** Status and headers of the HTTP answer, by the rules of GraphQL over HTTP, which differ for `application/json`. */
export function httpStatusAndHeaders(errors: readonly GraphQLError[] = [], type: string): Http {
  const answer = { status: 200, headers: {} };
  for (const { extensions } of errors) {
    const http = extensions.http as Http | undefined;
    Object.assign(answer.headers, http?.headers);
    if (http && !(http.spec && type === 'application/json')) answer.status = Math.max(answer.status, http.status);
  }
  return answer;
}

function wireError(error: GraphQLError, data: ExecutionResult['data'], { res, services }: ErrorContext): GraphQLError {
  const { log, config } = services;
  const { requestId } = localsOf(res);
  const origin = originOf(error);
  // Every execution has data, perhaps null.
  const early = data === undefined;
  const domainError = domainErrorOf(origin);
  if (domainError) {
    if (domainError.code === 'UNAVAILABLE') log.warn({ requestId, err: domainError.cause }, domainError.message);
    const { details, code, errors, errorsOmitted, retryAfter } = domainError;
    // Clients of events and plain JSON expect an error of a subscription in a 200, unless they are to try again.
    const spec = error.path !== undefined && retryAfter === undefined;
    const http = error.extensions.http ?? { status: statusOf[code], headers: headersOf(domainError), spec };
    const isAnswered = Object.values(data ?? {}).some((value) => value != null);
    const tellByStatus = early || (!isAnswered && retryAfter !== undefined);
    return rewritten(error, domainError.message, {
      ...{ ...details, code, requestId },
      ...(errors && { errors }),
      ...(errorsOmitted > 0 && { errorsOmitted }),
      ...(retryAfter !== undefined && { retryAfter }),
      ...(tellByStatus && { http }),
    });
  }
  // A scalar that cannot write a value also throws a GraphQLError, without nodes and code.
  if (origin instanceof GraphQLError && (early || origin.nodes || graphqlCodes.has(origin.extensions.code)))
    return rejectedByGraphql(error, early, config.INTROSPECTION, requestId);
  log.error({ requestId, err: origin }, 'request failed');
  return rewritten(error, 'Something went wrong on our side. The fault has been logged with this request id.', {
    code: 'INTERNAL',
    requestId,
    ...(early && { http: { status: statusOf.INTERNAL } }),
  });
}

function originOf(error: GraphQLError): Error {
  let origin: Error = error;
  while (origin instanceof GraphQLError && origin.originalError) origin = origin.originalError;
  return origin;
}

const graphqlCodes = new Set<unknown>([
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

/** The error of a document or of variables; `hints` suggest names, which would reveal a hidden schema. */
function rejectedByGraphql(error: GraphQLError, early: boolean, hints: boolean, requestId: string): GraphQLError {
  const { code, http: own } = error.extensions as { code?: string; http?: Http };
  // An execution may have made a change, so the status is that of an answer.
  const http = early ? (own ?? { status: 400, spec: true }) : undefined;
  const message = hints ? error.message : error.message.replaceAll(/ Did you mean [^?]*(?:\?|$)/g, '');
  const known = graphqlCodes.has(code) ? code : 'VALIDATION_FAILED';
  return rewritten(error, message, { code: known, requestId, http });
}

export const withErrorCode = (error: GraphQLError, code: string): GraphQLError =>
  rewritten(error, error.message, { code });

function rewritten(error: GraphQLError, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes, source, positions, path } = error;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
