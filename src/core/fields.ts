import { z } from 'zod';

/** A field's schema with its meaning and an example. */
export const field = <Schema extends z.ZodType>(schema: Schema, description: string, example: unknown): Schema =>
  schema.meta({ description, examples: [example] });

export const exampleIds = {
  fleet: '019aa1b2-5c3d-7e4f-8a6b-0c1d2e3f4a5b',
  vehicle: '019aa1b2-6d4e-7f50-8b7c-1d2e3f4a5b6c',
  contract: '019aa1b2-7d4e-7f50-9b7c-1d2e3f4a5b6c',
  event: '019aa1b2-9e5f-7061-8c8d-2e3f4a5b6c7d',
  webhook: '019aa1b2-8d4e-7f50-9b7c-1d2e3f4a5b6c',
  delivery: '019aa1b2-9f6a-7b72-8d9e-3f4a5b6c7d8e',
  import: '019aa1b2-8e5f-7a61-8c8d-2e3f4a5b6c7d',
};

export const uuidField = (description: string, example: string) => field(z.uuid(), description, example);

export const timeField = (description: string, example = '2026-11-20T08:00:00.000Z') =>
  field(z.iso.datetime(), description, example);

export const timeOrNullField = (description: string, example: string | null) =>
  field(z.iso.datetime().nullable(), description, example);

/** An optional input that another one of the same object replaces, until the coming version. */
export const replaced = <Schema extends z.ZodType>(schema: Schema, by: string): Schema =>
  schema.meta({ ...schema.meta(), deprecated: true, replacedBy: by });

/** Fields of an input, each with the meaning of the resource's field of its name. */
export const describeInputFields = <Fields extends Record<string, z.ZodType>>(
  resource: { shape: { [Name in keyof Fields]: z.ZodType } },
  fields: Fields,
): Fields => {
  const described = Object.entries(fields).map(([name, one]) => [name, one.meta(resource.shape[name]?.meta() ?? {})]);
  return Object.fromEntries(described);
};

/** A field's schema without optional, nullable and transforms. */
export function unwrapSchema(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrapSchema(schema.unwrap());
  if (schema instanceof z.ZodPipe) return unwrapSchema(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  return schema as z.ZodType;
}

export const schemaDescription = (schema: z.ZodType): string | undefined =>
  schema.description ??
  (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? schemaDescription(schema.unwrap() as z.ZodType)
    : undefined);

/** zod's type of a field, with `uuid` and `time` among texts. */
export function schemaKind(schema: z.core.$ZodType): string {
  const plain = unwrapSchema(schema);
  if (plain.type !== 'string') return plain.type;
  const format = ('format' in plain && plain.format) || plain.meta()?.format;
  return format === 'uuid' ? 'uuid' : format === 'datetime' || format === 'date-time' ? 'time' : 'string';
}
