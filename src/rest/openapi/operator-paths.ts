import { z } from 'zod';
import { field } from '../../core/fields.ts';
import { type HeaderName, headersNamed, type Json, type Schemas } from './json-schema.ts';
import { errorAnswerOf } from './operation.ts';

const statusJson = z
  .object({
    status: field(z.string(), 'In a word.', 'ok'),
    detail: field(z.string().optional(), 'Why it is not ready.', 'The database cannot be reached.'),
  })
  .meta({ id: 'Status' });

const always: readonly HeaderName[] = ['X-Request-Id'];

/** Paths for operators and their machines, without a token. */
export function operatorPaths(schemas: Schemas): Record<string, Json> {
  const status = schemas.of(statusJson, 'output');
  const json = (description: string, example: unknown, schema: Json = status, headers: HeaderName[] = []): Json => ({
    description,
    headers: headersNamed([...always, ...headers]),
    content: { 'application/json': { schema, example } },
  });
  const get = (operationId: string, summary: string, description: string, responses: Json): Json => ({
    get: {
      operationId,
      tags: ['Operation'],
      summary,
      description,
      security: [],
      responses: { ...responses, 405: errorAnswerOf(['METHOD_NOT_ALLOWED'], schemas) },
    },
  });
  return {
    '/livez': get('getLiveness', 'Liveness probe', 'The process runs. A failing one should be restarted.', {
      200: json('It runs.', { status: 'ok' }),
    }),
    '/readyz': get(
      'getReadiness',
      'Readiness probe',
      'The database answers, and its migrations are those of this version.',
      {
        200: json('Send requests.', { status: 'ready' }),
        503: json(
          'Send no requests now: `unavailable` or `draining`.',
          { status: 'draining', detail: 'The process is stopping.' },
          status,
          ['Retry-After'],
        ),
      },
    ),
    '/metrics': get('getMetrics', 'Metrics', 'For Prometheus. With `METRICS_TOKEN` set, that token is needed.', {
      200: {
        description: 'The metrics of this process, in the text format of Prometheus.',
        headers: headersNamed(always),
        content: { 'text/plain': { schema: { type: 'string' }, example: 'fleet_gateway_database_up 1\n' } },
      },
      401: errorAnswerOf(['UNAUTHENTICATED'], schemas),
    }),
    '/openapi.json': get('getOpenApi', 'This document', 'The OpenAPI document of the running version.', {
      200: json('The document.', { openapi: '3.1.1' }, { type: 'object' }),
    }),
  };
}
