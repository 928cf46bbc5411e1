import { expect, test, vi } from 'vitest';
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

test('plans that were dropped no longer count', () => {
  const document = prepareDocument('query ($all: Boolean!) { fleets { nodes { id name @include(if: $all) } } }');
  const operation = document.operation();
  const sizes = [300, 300].map((count) => {
    for (let at = 0; at < count; at++) operation?.queryPlan({ all: `${count}${at}` });
    return document.bytes;
  });
  expect(sizes[1]).toBe(sizes[0]);
});

test.each([
  ['some of the schema', 1_000, 1],
  ['more than 1 MB of it', 1024 * 1024, 2],
])('the text of %s of %i characters is made %i times for two requests', (_what, length, times) => {
  const document = prepareDocument(`{ __schema { description } } # ${length}`);
  const before = document.bytes;
  const execute = vi.fn(() => ({ data: { __schema: { description: 'x'.repeat(length) } } }));
  const answers = [1, 2].map(() => document.operation()?.schemaText(execute));
  expect(answers).toEqual([JSON.stringify(execute().data), JSON.stringify(execute().data)]);
  expect(execute).toHaveBeenCalledTimes(times + 2);
  expect(document.bytes - before < length).toBe(times === 2);
});
