import type { z } from 'zod';
import { type ErrorCode, statusOf } from '../../core/errors.ts';
import type { AnswerDocs, Route } from '../route.ts';
import { everyAnswer, type HeaderName, headersNamed, type Json, mapValues, type Schemas } from './json-schema.ts';
import { type PathParameter, pathParameter } from './parameters.ts';
import { errorHeaders, problemExamples, problemJson } from './problems.ts';

export function operationOf(route: Route, schemas: Schemas): Json {
  const { operationId, tag, summary, description, scope, token, answers, etag, method } = route;
  return {
    operationId,
    tags: [tag],
    summary,
    description: `${description} Scope: \`${scope}\`.`,
    security: token === 'optional' ? [bearer, {}] : [bearer],
    parameters: parametersOf(route),
    ...(route.body && { requestBody: bodyOf(route.body, route, schemas) }),
    responses: {
      ...mapValues(answers, (answer) => answerOf(answer, route, schemas)),
      ...(etag && method === 'GET' && { 304: answerOf(notModified, route, schemas) }),
      ...errorAnswersOf(route, schemas),
    },
  };
}

const bearer = { bearer: [] };

/** Whether it changes a resource that exists. */
const isChange = ({ method, path }: Route): boolean => method !== 'GET' && path.includes(':');

const parameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

function parametersOf(route: Route): Json[] {
  const { method, path, query = [], prefer, etag } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => pathParameter(name as PathParameter));
  return [
    ...inPath,
    ...query.map(parameter),
    ...(method === 'POST' ? [parameter('Idempotency-Key')] : []),
    ...(prefer ? [parameter('Prefer')] : []),
    ...(etag && method === 'GET' ? [parameter('If-None-Match')] : []),
    ...(etag && isChange(route) ? [parameter('If-Match')] : []),
  ];
}

function bodyOf(input: z.ZodObject, { files, example = {} }: Route, schemas: Schemas): Json {
  const schema = schemas.of(input, 'input');
  if (!files) {
    const body = Object.fromEntries(Object.entries(example).filter(([name]) => name in input.shape));
    return { required: true, content: { 'application/json': { schema, example: body } } };
  }
  const form = { schema, encoding: { vins: { contentType: Object.keys(files).join(', ') } } };
  const alone = mapValues(files, (example) => (example === null ? {} : { schema: { type: 'string' }, example }));
  return { required: true, content: { 'multipart/form-data': form, ...alone } };
}

const notModified = { description: 'The resource still has the `ETag` of `If-None-Match`.' };

function answerOf(answer: AnswerDocs, { method, etag }: Route, schemas: Schemas): Json {
  const { description, schema, type = 'application/json', files = {}, headers = [] } = answer;
  const names: HeaderName[] = [
    ...everyAnswer,
    ...headers,
    ...(etag && method !== 'DELETE' ? ['ETag' as const] : []),
    ...(method === 'POST' ? ['Idempotent-Replayed' as const] : []),
  ];
  const contentOf = (one: z.ZodType) => {
    const json = schemas.of(one, 'output');
    return { schema: json, example: schemas.exampleOf(json) };
  };
  return {
    description,
    headers: headersNamed(names),
    ...(schema && { content: mapValues({ [type]: schema, ...files }, contentOf) }),
  };
}

function codesOf(route: Route): ErrorCode[] {
  const { method, query, body, files, etag, errors = [] } = route;
  const reads = query || body || method === 'POST';
  return [
    ...errors,
    ...(etag && isChange(route) ? (['PRECONDITION_FAILED'] as const) : []),
    ...(reads ? (['VALIDATION_FAILED'] as const) : []),
    ...(method === 'GET' ? (['COST_EXCEEDED'] as const) : []),
    ...(body && !files ? (['MALFORMED_JSON'] as const) : []),
    ...(body ? (['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    'UNAUTHENTICATED',
    'FORBIDDEN',
    'COMPANY_ELSEWHERE',
    ...(method === 'POST'
      ? (['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_ANSWER_GONE', 'IDEMPOTENCY_KEY_REUSED'] as const)
      : []),
    'RATE_LIMITED',
    'INTERNAL',
    'UNAVAILABLE',
  ];
}

function errorAnswersOf(route: Route, schemas: Schemas): Json {
  const byStatus = Map.groupBy(new Set(codesOf(route)), (code) => statusOf[code]);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, errorAnswerOf(codes, schemas)]));
}

/** Statuses of errors that are given again under their Idempotency-Key. */
const remembered = [400, 404, 409, 413];

const detailOf = (code: ErrorCode) => String(problemExamples[code]?.value.detail).replace(/\.?$/, '.');

/** A reference to the answer for these codes of one status, shared by all operations that have the same codes. */
export function errorAnswerOf(codes: readonly ErrorCode[], schemas: Schemas): Json {
  const name = codes.toSorted().join('.');
  schemas.responses[name] = {
    description: codes.map((code) => `\`${code}\`, for example: ${detailOf(code)}`).join('\n\n'),
    headers: headersNamed([
      ...everyAnswer,
      ...codes.flatMap(errorHeaders),
      ...(codes.some((code) => remembered.includes(statusOf[code])) ? ['Idempotent-Replayed' as const] : []),
    ]),
    content: {
      'application/problem+json': {
        schema: schemas.of(problemJson, 'output'),
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
  return { $ref: `#/components/responses/${name}` };
}
