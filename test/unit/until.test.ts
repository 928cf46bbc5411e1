import { expect, test } from 'vitest';
import { until } from '../support/until.ts';

test.each([false, null, undefined])('%s does not end the wait', async (nothing) => {
  const answers = [nothing, Promise.resolve(nothing), 7];
  expect(await until(() => answers.shift())).toBe(7);
  expect(answers).toEqual([]);
  await expect(until(() => nothing, 60)).rejects.toThrow('waited 60 ms in vain');
});

test.each([0, '', true])('%j ends the wait', async (answer) => {
  expect(await until(() => answer)).toBe(answer);
});
