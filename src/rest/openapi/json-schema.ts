import { z } from 'zod';

/** A piece of an OpenAPI document. */
export type Json = { [key: string]: unknown };

/** Formats say it better than the expressions that zod reads them with. */
const FORMATS: readonly unknown[] = ['uuid', 'date-time', 'email'];

/**
 * JSON Schemas of zod's, for one document. Schemas with an `id` in their meta stand once, in `components`, and
 * everywhere else there is a reference to them.
 */
export class Schemas {
  readonly components: Record<string, Json> = {};
  /** Answers that several operations have, by name. */
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

  /** An example put together from the examples of a schema's fields. */
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

interface Made {
  zodSchema: z.core.$ZodType;
  jsonSchema: Json;
}

/** Whole numbers are counts, places and statuses: columns of four bytes. */
const COUNT = { format: 'int32', minimum: 0, maximum: 2 ** 31 - 1 };

/** Readers of an answer must bear fields that are added later, so no schema forbids any. */
function plain({ zodSchema, jsonSchema: schema }: Made): void {
  // Examples are as they are sent, also of what is another value once it was read.
  const { examples } = z.globalRegistry.get(zodSchema) ?? {};
  if (examples) schema.examples = examples;
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
