import SchemaBuilder from '@pothos/core';
import ValidationPlugin from '@pothos/plugin-validation';
import type { FileUpload } from 'graphql-upload-minimal';
import type { GraphqlContext } from '../execution/context.ts';
import { validationFailure } from './validation.ts';

/** Every type and field is added to this one; it holds none itself. Fields are non-null unless they say otherwise. */
export const builder = new SchemaBuilder<{
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
  validation: { validationError: validationFailure },
});

builder.queryType({ description: 'What can be read. Everything is confined to the company of the bearer token.' });
builder.mutationType({
  description:
    'What can be changed. An error leaves the payload null and stands in `errors`, with a stable `extensions.code`. Where its path ' +
    'goes below the field, the change was made before it; with an `Idempotency-Key` it was undone.',
});
builder.subscriptionType({
  description: 'What can be followed, over server-sent events (GraphQL over SSE) or WebSocket (graphql-transport-ws).',
});
