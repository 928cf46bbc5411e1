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

test('however many documents are not valid, they push out none that is', () => {
  const text = '{ valid: __typename }';
  const [, second] = [prepare(text), prepare(text)];
  for (let at = 0; at < 500; at++) prepare(`{ nothing${at} # ${'x'.repeat(1000)}\n }`);
  expect(prepare(text)).toBe(second);
});
