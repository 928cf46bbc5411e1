import { expect, test } from 'vitest';
import { readCsvStart } from '../../../src/vin-files/csv/layout.ts';
import { usualLimits } from '../../../src/vin-files/csv/limits.ts';
import { doubts, headerSigns, nameSigns } from '../../../src/vin-files/csv/signs.ts';

const VIN = 'WVWZZZ1KZAW000001';

async function* pieces(text: string): AsyncGenerator<string, void> {
  yield text;
}
const startOf = (text: string) => readCsvStart(pieces(text), usualLimits);
const signs = Object.entries(nameSigns);

test.each(signs)('%s: the example names the column, surely or by what is below it', async (_, { example, sure }) => {
  expect((await startOf(`Plate;${example}\nB-1;${VIN}\n`)).layout.column).toBe(example);
  // A sure name leaves no doubt where every VIN is wrong.
  const wrong = await startOf(`Plate;${example}\nB-1;WVW1\n`);
  expect([wrong.layout.column, wrong.doubt]).toEqual([example, sure ? 0 : 2]);
});

const pairs = signs.flatMap(([name, { weight, example }]) =>
  signs
    .filter(([, other]) => other.weight > weight)
    .map(([other, { example: heavier }]) => [name, other, example, heavier] as const),
);
test.each(pairs)('%s counts more than %s', async (_name, _other, example, heavier) => {
  expect((await startOf(`${heavier};${example}\n${VIN};${VIN}\n`)).layout.column).toBe(example);
});

test.each(Object.entries(doubts))('%s: the example has this doubt', async (_, { weight, example }) => {
  expect((await startOf(example)).doubt).toBe(weight);
});

test.each(Object.entries(headerSigns))('%s: the header of the example is found', async (_, { example }) => {
  expect((await startOf(example)).layout.columns).toEqual(['Car', 'Colour']);
});
