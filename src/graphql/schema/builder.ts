import SchemaBuilder from '@pothos/core';
import ValidationPlugin from '@pothos/plugin-validation';
import { GraphQLError, GraphQLScalarType } from 'graphql';
import { type FileUpload, GraphQLUpload } from 'graphql-upload-minimal';
import type { z } from 'zod';
import { ValidationFailed } from '../../core/errors.ts';
import { inputErrorsOf } from '../../core/input.ts';
import type { GraphqlContext } from './context.ts';

/** The builder of all types and fields. Fields are non-null unless they say otherwise. */
export const schemaBuilder = new SchemaBuilder<{
  Context: GraphqlContext;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    Upload: { Input: Promise<FileUpload>; Output: never };
  };
}>({
  plugins: [ValidationPlugin],
  defaultFieldNullability: false,
  validation: {
    validationError({ issues }) {
      const errors = (issues as readonly z.core.$ZodIssue[]).flatMap(inputErrorsOf);
      // Paths begin inside `input`, as REST's begin inside the body.
      const inside = errors.map(({ path, ...error }) => ({ path: path.replace(/^input\.?/, ''), ...error }));
      return new ValidationFailed(inside);
    },
  },
});

export type SchemaTypes = typeof schemaBuilder extends PothosSchemaTypes.SchemaBuilder<infer Found> ? Found : never;
export type ObjectRef<Shape> = PothosSchemaTypes.ObjectRef<SchemaTypes, Shape>;

schemaBuilder.queryType({
  description: 'What can be read. Everything is confined to the company of the bearer token.',
});
schemaBuilder.mutationType({
  description:
    'What can be changed. An error leaves the payload null and stands in `errors`, with a stable `extensions.code`. Where its path ' +
    'goes below the field, the change was made before it; with an `Idempotency-Key` it was undone.',
});
schemaBuilder.subscriptionType({
  description: 'What can be followed, over server-sent events (GraphQL over SSE) or WebSocket (graphql-transport-ws).',
});

schemaBuilder.scalarType('DateTime', {
  description: 'A point in time as ISO 8601 text with a zone. Answers are in UTC: `2026-01-31T08:00:00.000Z`.',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc3339#section-5.6',
  serialize: (value) => value,
  // Core reads the text, as for REST.
  parseValue(value) {
    if (typeof value === 'string') return value;
    throw new GraphQLError('A DateTime is a string, such as "2026-01-31T08:00:00Z".');
  },
});

schemaBuilder.scalarType('JSON', {
  description: 'Any JSON value, given as it is: its shape follows from what stands beside it.',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc8259',
  serialize: (value) => value,
});

schemaBuilder.addScalarType(
  'Upload',
  new GraphQLScalarType({
    ...GraphQLUpload.toConfig(),
    description:
      'A file, sent as a part of a multipart request (GraphQL multipart request specification) and read as it arrives.',
    specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  }),
);
