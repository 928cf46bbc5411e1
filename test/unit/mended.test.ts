import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mendText, toMendedJson } from '../../src/core/input.ts';

const unit = fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u', '0000', 'd83d', '"', '\n', 'a', 'é');
const name = fc.string({ unit });
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

/** Mended JSON, written value by value. No text is parsed: JSON.parse of Node 26.10 misreads some names with escapes. */
function slowly(one: unknown): string {
  if (typeof one === 'string') return JSON.stringify(mendText(one));
  if (Array.isArray(one)) return `[${one.map(slowly)}]`;
  if (typeof one !== 'object' || one === null) return JSON.stringify(one);
  return `{${Object.entries(one).map(([key, of]) => `${slowly(key)}:${slowly(of)}`)}}`;
}

test('JSON is mended in every text and every name, and nowhere else', () => {
  fc.assert(
    fc.property(value, (one) => {
      expect(toMendedJson(one)).toBe(slowly(one));
    }),
    { numRuns: 3000 },
  );
});
