import { expect, test } from 'vitest';
import { prepare } from '../../src/graphql/execution/document.ts';

test('a document that is not valid is judged once, though Yoga asks for it twice', () => {
  const wrong = '{ fleets { nodes { nothingOfTheKind } } }';
  const first = prepare(wrong);
  expect(first.errors.map(({ message }) => message)).toEqual([expect.stringContaining('nothingOfTheKind')]);
  expect(prepare(wrong)).toBe(first);
});

test('a valid document is kept when it comes for the second time', () => {
  const text = '{ kept: __typename }';
  const [first, second, third] = [prepare(text), prepare(text), prepare(text)];
  expect(second).not.toBe(first);
  expect(third).toBe(second);
});
