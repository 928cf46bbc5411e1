import { z } from 'zod';
import packageJson from '../../../package.json' with { type: 'json' };
import { field } from '../../core/fields.ts';
import { routes } from '../router.ts';
import { type HeaderName, headers, headersNamed, type Json, Schemas } from './json-schema.ts';
import { errorAnswerOf, operationOf } from './operation.ts';
import { headerParameters, queryParameters, tags } from './parameters.ts';
import { problemExamples } from './problems.ts';

const description = `Fleets, their vehicles, the eligibility of vehicles for connected data, and contracts with manufacturers.

The same service speaks GraphQL at \`/graphql\`.

**Ids** are UUIDs. **Times** are ISO 8601 in UTC. **A company sees its own data only**: another company's data is answered as if it did not exist.

**Lists** are complete, however long they are, and sorted oldest first unless \`sort\` says otherwise. With \`limit\` or \`after\` they come in pages, and \`Link\` has the address of the next one.

**Errors** are \`application/problem+json\` with a \`code\` that never changes. Every answer has an \`X-Request-Id\`: yours, if you sent one of at most 128 letters, digits and \`_.:-\`.

**Another method** than those listed is rejected with 405 and \`Allow\`; \`HEAD\` works wherever \`GET\` does. New fields may be added to answers at any time.`;

/** The OpenAPI document of the REST API: what the routes, core's schemas and the table of errors say; `basePath` is that of the gateway. */
export function openApiDocument(basePath = ''): Json {
  const schemas = new Schemas();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, schemas) };
  }
  Object.assign(paths, operatorPaths(schemas));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fleet Gateway',
      version: packageJson.version,
      description,
      contact: { name: 'The operator of this gateway' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [
      {
        url: basePath || '/',
        description: 'The local, staging or production gateway that this document comes from.',
        'x-internal': false,
      },
    ],
    tags: Object.entries(tags).map(([name, about]) => ({ name, description: about })),
    paths,
    components: {
      schemas: sorted(schemas.components),
      parameters: { ...queryParameters, ...headerParameters },
      headers,
      responses: sorted(schemas.responses),
      examples: sorted(problemExamples),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A token of the configured issuer that names the company, verified as RFC8725 recommends. Where scopes are in use: `fleets:read`, ' +
            '`fleets:write` (fleets, vehicles, eligibility), `contracts:read` and `contracts:write`.',
        },
      },
    },
  };
}

const sorted = <Value>(record: Readonly<Record<string, Value>>) =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const statusJson = z
  .object({
    status: field(z.string(), 'The status of the process in a word: `ok`, `ready`, `unavailable` or `draining`.', 'ok'),
    detail: field(z.string().optional(), 'The reason why the process is not ready.', 'The database cannot be reached.'),
  })
  .meta({ id: 'Status', description: 'The answer of a probe of the process.' });

/** Paths for operators and their machines, without a token. */
function operatorPaths(schemas: Schemas): Record<string, Json> {
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
    '/livez': get(
      'getLiveness',
      'Liveness probe',
      'Answers as long as the process runs. A process that does not answer should be restarted.',
      {
        200: answer('The process runs.', json(status, { status: 'ok' })),
      },
    ),
    '/readyz': get('getReadiness', 'Readiness probe', READY, {
      200: answer('The process is ready for requests.', json(status, { status: 'ready' })),
      503: answer('The process is not ready: `unavailable` without a database, or `draining` at its end.', draining, [
        'Retry-After',
      ]),
    }),
    '/metrics': get(
      'getMetrics',
      'Metrics',
      'The metrics of this process, for Prometheus. With `METRICS_TOKEN` set, that token is needed.',
      {
        200: answer('The metrics in the text format of Prometheus.', metrics),
        401: errorAnswerOf(['UNAUTHENTICATED'], schemas),
      },
    ),
    '/openapi.json': get('getOpenApi', 'This document', 'The OpenAPI document of the running version.', {
      200: answer('The OpenAPI document.', json({ type: 'object' }, { openapi: '3.1.1' })),
    }),
  };
}

const READY = 'Answers 200 if the database is reachable and its migrations are those of this version.';
