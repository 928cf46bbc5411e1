import { expect, test } from 'vitest';
import { elementsOf } from '../../../src/manufacturers/json-elements.ts';

/** The elements of a text that comes in parts of so many bytes. */
async function read(text: string, size: number): Promise<unknown[]> {
  const bytes = new TextEncoder().encode(text);
  async function* parts() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return Array.fromAsync(elementsOf(parts()));
}

const lists = [
  '[]',
  ' [ ] ',
  '[1]',
  '[{"a":[1,{"b":"]}"}]},"x,\\"[",[],{},null , -1.5e3]',
  '\n[{"vin":"WBA1","reason":"Zustimmung läuft, \\\\"}\n, {"vin":"€"}]\n',
];

test.each(lists)('reads the elements of %s in parts of any size', async (text) => {
  for (const size of [1, 2, 3, 7, 1000]) expect(await read(text, size)).toEqual(JSON.parse(text));
});

test.each(['', ' ', '{}', '{"a":[1]}', '1', '[', '[1', '[1,', '[1,]', '[,1]', '[1 2]', '[1]]', '[1]x', '["a', '[{]}'])(
  'refuses %s',
  async (text) => {
    for (const size of [1, 1000]) await expect(read(text, size)).rejects.toThrow('unreadable');
  },
);
