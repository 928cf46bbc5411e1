import { expect, test } from 'vitest';
import { prepareDocument } from '../../src/graphql/execution/document.ts';

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

test('plans that were dropped no longer count', () => {
  const document = prepareDocument('query ($all: Boolean!) { fleets { nodes { id name @include(if: $all) } } }');
  const operation = document.operation();
  const sizes = [300, 300].map((count) => {
    for (let at = 0; at < count; at++) operation?.queryPlan({ all: `${count}${at}` });
    return document.bytes;
  });
  expect(sizes[1]).toBe(sizes[0]);
});
