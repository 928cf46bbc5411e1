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

/** Paths for operators and their machines, without a token. */
export function operatorPaths(schemas: Schemas): Record<string, Json> {
  const status = schemas.of(statusJson, 'output');
  const answer = (description: string, content: Json, headers: HeaderName[] = []): Json => ({
    description,
    headers: headersNamed(['X-Request-Id', ...headers]),
    content,
  });
  const json = (schema: Json, example: unknown) => ({ 'application/json': { schema, example } });
  const get = (operationId: string, summary: string, description: string, responses: Json): Json => ({
    get: {
      ...{ operationId, tags: ['Operation'], summary, description, security: [] },
      responses: { ...responses, 405: errorAnswerOf(['METHOD_NOT_ALLOWED'], schemas) },
    },
  });
  const draining = json(status, { status: 'draining', detail: 'The process is stopping.' });
  const metrics = { 'text/plain': { schema: { type: 'string' }, example: 'fleet_gateway_database_up 1\n' } };
  return {
    '/livez': get('getLiveness', 'Liveness probe', 'The process runs. A failing one should be restarted.', {
      200: answer('It runs.', json(status, { status: 'ok' })),
    }),
    '/readyz': get('getReadiness', 'Readiness probe', READY, {
      200: answer('Send requests.', json(status, { status: 'ready' })),
      503: answer('Send no requests now: `unavailable` or `draining`.', draining, ['Retry-After']),
    }),
    '/metrics': get('getMetrics', 'Metrics', 'For Prometheus. With `METRICS_TOKEN` set, that token is needed.', {
      200: answer('The metrics of this process, in the text format of Prometheus.', metrics),
      401: errorAnswerOf(['UNAUTHENTICATED'], schemas),
    }),
    '/openapi.json': get('getOpenApi', 'This document', 'The OpenAPI document of the running version.', {
      200: answer('The document.', json({ type: 'object' }, { openapi: '3.1.1' })),
    }),
  };
}

const READY = 'The database answers, and its migrations are those of this version.';
