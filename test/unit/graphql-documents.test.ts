import { expect, test } from 'vitest';
import { prepareDocument } from '../../src/graphql/execution/prepare-document.ts';

test('an invalid document is validated once', () => {
  const wrong = '{ fleets { nodes { nothingOfTheKind } } }';
  const first = prepareDocument(wrong);
  expect(first.errors.map(({ message }) => message)).toEqual([expect.stringContaining('nothingOfTheKind')]);
  expect(prepareDocument(wrong)).toBe(first);
});

test('a valid document is prepared once', () => {
  const text = '{ kept: __typename }';
  expect(prepareDocument(text)).toBe(prepareDocument(text));
});
