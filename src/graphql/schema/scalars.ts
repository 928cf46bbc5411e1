import { GraphQLError, GraphQLScalarType } from 'graphql';
import { GraphQLUpload } from 'graphql-upload-minimal';
import { builder } from './builder.ts';

builder.scalarType('DateTime', {
  description: 'A point in time as ISO 8601 text with a zone. Answers are in UTC: `2026-01-31T08:00:00.000Z`.',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc3339#section-5.6',
  serialize: (value) => value,
  // Which texts are times is for core to say, as for REST.
  parseValue(value) {
    if (typeof value === 'string') return value;
    throw new GraphQLError('A DateTime is a string, such as "2026-01-31T08:00:00Z".');
  },
});

builder.scalarType('JSON', {
  description: 'Any JSON value, given as it is: its shape follows from what stands beside it.',
  serialize: (value) => value,
});

builder.addScalarType(
  'Upload',
  new GraphQLScalarType({
    ...GraphQLUpload.toConfig(),
    description:
      'A file, sent as a part of a multipart request (GraphQL multipart request specification) and read as it arrives.',
  }),
);
