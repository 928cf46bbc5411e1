import type { ErrorCode } from '../../core/errors.ts';
import type { Json } from './json-schema.ts';

const text = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

/** Every header of an answer, defined once. */
export const headers = {
  'X-Request-Id': text(
    'Names this request in our log: the id you sent, if it was a sane one, or a new one.',
    '7b0c1c58-6f0e-4e06-9f7c-1d1f5d9f6f3e',
  ),
  Link: text(
    'The next page, unless this is the last one (RFC 8288).',
    '</fleets?limit=100&after=AZqhslw9fk-KawwdLj9KWw>; rel="next"',
  ),
  Location: text('Where the new resource is.', '/fleets/019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b'),
  'Preference-Applied': text('How long the answer was waited for at most (RFC 7240).', 'wait=10'),
  'Content-Disposition': text('The name to save the file by.', 'attachment; filename="rejected.csv"'),
  ETag: text(
    'Names the state that the answer shows: any change of it makes another one.',
    'W/"3q2-7wGZr5ZkQ0uXh8tV1A"',
  ),
  Vary: text('What the answer depends on beside its address.', 'Accept'),
  'Idempotent-Replayed': text('`true`: this is the answer to an earlier request with the same key.', 'true'),
  'Retry-After': {
    description: 'Seconds after which trying again makes sense.',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 86_400 },
    example: 2,
  },
  'WWW-Authenticate': text(
    'What is wrong with the token (RFC 6750).',
    'Bearer realm="fleet-gateway", error="invalid_token", error_description="The token has expired."',
  ),
  RateLimit: text('What is left of the company’s requests, where they are limited.', '"company";r=42;t=12'),
  'RateLimit-Policy': text('How many requests are allowed in how many seconds.', '"company";q=600;w=60'),
} satisfies Record<string, Json>;

export type HeaderName = keyof typeof headers;

export const everyAnswer: readonly HeaderName[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];

/** What comes with an error beside that. */
export const errorHeaders: Partial<Record<ErrorCode, readonly HeaderName[]>> = {
  UNAUTHENTICATED: ['WWW-Authenticate'],
  FORBIDDEN: ['WWW-Authenticate'],
  ELIGIBILITY_IN_PROGRESS: ['Retry-After'],
  IDEMPOTENCY_IN_PROGRESS: ['Retry-After'],
  RATE_LIMITED: ['Retry-After'],
  UNAVAILABLE: ['Retry-After'],
};

/** References to headers, as an answer lists them. */
export const headersNamed = (names: readonly HeaderName[]): Json =>
  Object.fromEntries([...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
