import { z } from 'zod';

export type Json = { [key: string]: unknown };

/** Formats whose expressions are left out. */
const FORMATS: readonly unknown[] = ['uuid', 'date-time'];

/** JSON Schemas of zod's, for one document. Those with an `id` in their meta are in `components`. */
export class Schemas {
  readonly components: Record<string, Json> = {};
  readonly responses: Record<string, Json> = {};
  readonly #known = { input: new Map<z.ZodType, Json>(), output: new Map<z.ZodType, Json>() };

  /** `input`: as it may be sent. `output`: as it is answered. */
  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const known = this.#known[io].get(schema) ?? this.#make(schema, io);
    this.#known[io].set(schema, known);
    return known;
  }

  #make(schema: z.ZodType, io: 'input' | 'output'): Json {
    // Inside a list, because a schema at the root is never made a reference.
    const list = z.toJSONSchema(z.array(schema), { io, override: plain });
    const { items, $defs = {} } = JSON.parse(JSON.stringify(list).replaceAll('"#/$defs/', '"#/components/schemas/'));
    for (const [id, { id: _, ...definition }] of Object.entries<Json>($defs)) this.components[id] = definition;
    return items;
  }

  exampleOf(schema: Json): unknown {
    if (Array.isArray(schema.examples)) return schema.examples[0];
    if (typeof schema.$ref === 'string')
      return this.exampleOf(this.components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
    if (Array.isArray(schema.anyOf)) return this.exampleOf(schema.anyOf[0]);
    if (schema.type === 'array') return [this.exampleOf(schema.items as Json)];
    if (schema.type === 'object') {
      return mapValues(schema.properties as Record<string, Json>, (field) => this.exampleOf(field));
    }
    return undefined;
  }
}

/** Whole numbers are columns of four bytes. */
const COUNT = { format: 'int32', minimum: 0, maximum: 2 ** 31 - 1 };

/** Removes keywords that zod adds and clients do not need, and those that forbid fields of later versions. */
function plain({ zodSchema, jsonSchema: schema }: { zodSchema: z.core.$ZodType; jsonSchema: Json }): void {
  // Examples of values that reading transforms are shown as sent.
  const { examples } = z.globalRegistry.get(zodSchema) ?? {};
  if (examples) schema.examples = examples;
  delete schema.replacedBy;
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (FORMATS.includes(schema.format)) delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.type === 'integer') Object.assign(schema, { ...COUNT, ...schema });
}

export const mapValues = <From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From, key: string) => To,
): Record<string, To> => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));

const text = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

export const headers = {
  'X-Request-Id': text(
    'The id of the request, by which the operator finds it in the log: the one that you sent, if it is valid, or a new one.',
    '7b0c1c58-6f0e-4e06-9f7c-1d1f5d9f6f3e',
  ),
  Link: text(
    'The address of the next page, if any (RFC 8288).',
    '</fleets?limit=100&after=AZqhslw9fk-KawwdLj9KWw>; rel="next"',
  ),
  Location: text('The address of the new resource.', '/fleets/019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b'),
  'Preference-Applied': text('The longest time that was waited for an answer (RFC 7240).', 'wait=10'),
  'Content-Disposition': text('The name under which to save the file.', 'attachment; filename="rejected.csv"'),
  ETag: text('A tag of the answer’s content, which changes with it.', 'W/"3q2-7wGZr5ZkQ0uXh8tV1A"'),
  Vary: text('The request headers that the answer depends on.', 'Accept'),
  'Idempotent-Replayed': text('`true` for the stored answer to an earlier request with the same key.', 'true'),
  'Retry-After': {
    description: 'The number of seconds after which to send the request again.',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 86_400 },
    example: 2,
  },
  'WWW-Authenticate': text(
    'The fault of the bearer token (RFC 6750).',
    'Bearer realm="fleet-gateway", error="invalid_token", error_description="The token has expired."',
  ),
  RateLimit: text(
    'The number of requests that the company has left, and the seconds until it has all again. Absent without a limit.',
    '"company";r=42;t=12',
  ),
  'RateLimit-Policy': text(
    'The number of requests that a company may send, and the seconds in which it may. Absent without a limit.',
    '"company";q=600;w=60',
  ),
} satisfies Record<string, Json>;

export type HeaderName = keyof typeof headers;

export const everyAnswer: readonly HeaderName[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];

export const headersNamed = (names: readonly HeaderName[]): Json =>
  Object.fromEntries([...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
