import { z } from 'zod';

/** A field's schema with what it means and an example of it, as both interfaces tell them. */
export const field = <Schema extends z.ZodType>(schema: Schema, description: string, example: unknown): Schema =>
  schema.meta({ description, examples: [example] });

/** Fields of an input, each with the meaning of the resource's field of its name. */
export const asIn = <Fields extends Record<string, z.ZodType>>(
  resource: { shape: { [Name in keyof Fields]: z.ZodType } },
  fields: Fields,
): Fields => {
  const described = Object.entries(fields).map(([name, schema]) => [
    name,
    schema.meta(resource.shape[name]?.meta() ?? {}),
  ]);
  return Object.fromEntries(described);
};

/** A field's schema without what says whether it may be missing or null, or what becomes of a value that was read. */
export function bare(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return bare(schema.unwrap());
  if (schema instanceof z.ZodPipe) return bare(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  return schema as z.ZodType;
}

/** The meaning of a field, also of an optional or nullable one. */
export const descriptionOf = (schema: z.ZodType): string | undefined =>
  schema.description ??
  (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? descriptionOf(schema.unwrap() as z.ZodType)
    : undefined);

/** The kind of a field: zod's names, with kinds of text of their own. */
export function kindOf(schema: z.core.$ZodType): string {
  const plain = bare(schema);
  if (plain.type !== 'string') return plain.type;
  const format = ('format' in plain && plain.format) || plain.meta()?.format;
  return format === 'uuid' ? 'uuid' : format === 'datetime' || format === 'date-time' ? 'time' : 'string';
}
