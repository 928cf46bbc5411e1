import { parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { documents } from '../../bench/documents.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

test.each(Object.entries(documents))('the bench’s document “%s” is valid', (_, document) => {
  expect(validate(graphqlSchema, parse(document))).toEqual([]);
});
