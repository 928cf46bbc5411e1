import { GraphQLError, GraphQLScalarType } from 'graphql';
import { GraphQLUpload } from 'graphql-upload-minimal';
import { BY_CREATION, directions, type Orders } from '../../core/sql/order.ts';
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
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc8259',
  serialize: (value) => value,
});

builder.addScalarType(
  'Upload',
  new GraphQLScalarType({
    ...GraphQLUpload.toConfig(),
    description:
      'A file, sent as a part of a multipart request (GraphQL multipart request specification) and read as it arrives.',
    specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  }),
);

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which end of an order comes first.',
  values: {
    ASC: { value: directions[0], description: 'The smallest, or the oldest.' },
    DESC: { value: directions[1], description: 'The largest, or the latest.' },
  },
});

/** The type of `orderBy` for a list of these orders: `VehicleOrder` of `VehicleOrderField`. */
export function orderOf(name: string, orders: Orders, what: string) {
  const field = builder.enumType(`${name}Field`, {
    description: `What a list of ${what} can be sorted by.`,
    values: Object.fromEntries(Object.entries(orders).map(([key, { meaning }]) => [key, { description: meaning }])),
  });
  return builder.inputType(name, {
    description: `How a list of ${what} is sorted: what is equal stands in the order of creation. A cursor is good in its own order alone.`,
    fields: (t) => ({
      field: t.field({
        type: field,
        required: true,
        defaultValue: BY_CREATION.name,
        description: 'By what.',
      }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'In which direction.',
      }),
    }),
  });
}

/** The description of every `orderBy`. */
export const orderDescription = 'How the list is sorted; by default, the oldest first.';
