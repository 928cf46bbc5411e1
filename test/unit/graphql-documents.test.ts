import { expect, test } from 'vitest';
import { prepare } from '../../src/graphql/execution/document.ts';

test('an invalid document is validated once', () => {
  const wrong = '{ fleets { nodes { nothingOfTheKind } } }';
  const first = prepare(wrong);
  expect(first.errors.map(({ message }) => message)).toEqual([expect.stringContaining('nothingOfTheKind')]);
  expect(prepare(wrong)).toBe(first);
});

test('a valid document is prepared once', () => {
  const text = '{ kept: __typename }';
  expect(prepare(text)).toBe(prepare(text));
});
