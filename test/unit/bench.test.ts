import { parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { documents, unfilled } from '../../bench/documents.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

test.each(Object.entries(documents))('the bench’s document “%s” is valid', (_, document) => {
  for (const one of [document, unfilled(document)]) expect(validate(graphqlSchema, parse(one))).toEqual([]);
});
