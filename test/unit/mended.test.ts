import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mendText, toMendedJson } from '../../src/core/input.ts';

const unit = fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0000', 'd83d', '"', '\n', 'a', 'é');
// No names that end with a backslash: JSON.parse of Node 26.10 then misreads later names with an escaped quote.
const name = fc.string({ unit }).filter((one) => !one.endsWith('\\'));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit }),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}));

/** Mends JSON value by value. */
function slowly(one: unknown): unknown {
  if (typeof one === 'string') return mendText(one);
  if (Array.isArray(one)) return one.map(slowly);
  if (one instanceof Object)
    return Object.fromEntries(Object.entries(one).map(([key, of]) => [mendText(key), slowly(of)]));
  return one;
}

test('JSON is mended in every text and every name, and nowhere else', () => {
  fc.assert(
    fc.property(value, (one) => {
      expect(JSON.parse(toMendedJson(one))).toEqual(slowly(JSON.parse(JSON.stringify(one))));
    }),
    { numRuns: 3000 },
  );
});
