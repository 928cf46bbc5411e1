import SchemaBuilder from '@pothos/core';
import ValidationPlugin from '@pothos/plugin-validation';
import { GraphQLError, GraphQLScalarType } from 'graphql';
import { type FileUpload, GraphQLUpload } from 'graphql-upload-minimal';
import type { z } from 'zod';
import { ValidationFailed } from '../../core/errors.ts';
import { inputErrorsOf } from '../../core/input.ts';
import type { GraphqlContext } from './graphql-context.ts';

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
  description:
    'The queries. They read the data of one company: that of the bearer token. Scopes count where the operator has switched them on. Every query can also fail with VALIDATION_FAILED for its arguments, UNAUTHENTICATED, FORBIDDEN, COMPANY_ELSEWHERE, COST_EXCEEDED, RATE_LIMITED, UNAVAILABLE and INTERNAL.',
});
schemaBuilder.mutationType({
  description:
    'The mutations. An error leaves the payload null and stands in `errors`, with a stable `extensions.code`. If its path goes ' +
    'below the mutation, the change had been made before; with an `Idempotency-Key` it was undone. Every mutation can also fail ' +
    'with UNAUTHENTICATED, FORBIDDEN, COMPANY_ELSEWHERE, COST_EXCEEDED, RATE_LIMITED, UNAVAILABLE, INTERNAL and, with an `Idempotency-Key`, with ' +
    'IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_ANSWER_GONE and IDEMPOTENCY_KEY_REUSED.',
});
schemaBuilder.subscriptionType({
  description:
    'The subscriptions, over server-sent events (GraphQL over SSE) or WebSocket (graphql-transport-ws). A stream ends with its token.',
});

schemaBuilder.scalarType('DateTime', {
  description: 'A point in time as ISO 8601 text with a zone. Answers are in UTC: `2026-01-31T08:00:00.000Z`.',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc3339#section-5.6',
  serialize: (value) => value,
  // Core reads the text and reports what is wrong with it.
  parseValue(value) {
    if (typeof value === 'string') return value;
    throw new GraphQLError('A DateTime must be a string, such as "2026-01-31T08:00:00Z".');
  },
});

schemaBuilder.scalarType('JSON', {
  description: 'Any JSON value, given as it is. The description of a field says which shape its value has.',
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
