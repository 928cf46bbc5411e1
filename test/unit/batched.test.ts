import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { batched } from '../../src/jobs/batched.ts';

test('what comes while work is under way, or during its pause, is done together, and in order', async () => {
  const done: number[][] = [];
  const work = async (items: readonly number[]) => {
    done.push([...items]);
    await delay(20);
  };
  const add = batched(work, { pause: () => delay(10) });
  const first = [add(0), delay(1).then(() => add(1))];
  await delay(20);
  const second = [2, 3, 4].map(add);
  await Promise.all(first);
  expect(done).toEqual([[0, 1]]);
  await Promise.all(second);
  expect(done).toEqual([
    [0, 1],
    [2, 3, 4],
  ]);
});

test('no more are done together than may be, and none is forgotten', async () => {
  const done: number[][] = [];
  const add = batched(
    async (items: readonly number[]) => {
      await delay(1);
      done.push([...items]);
    },
    { most: 3, pause: ({ length }) => (length < 3 ? delay(5) : undefined) },
  );
  await Promise.all(Array.from({ length: 8 }, (_, item) => add(item)));
  expect(done).toEqual([
    [0, 1, 2],
    [3, 4, 5],
    [6, 7],
  ]);
});

test('a call fails with the batch of its item, and the next batch goes on', async () => {
  const add = batched(async (items: readonly number[]) => {
    await delay(1);
    if (items.includes(1)) throw new Error('not 1');
  });
  const bad = add(1);
  const good = delay(0).then(() => add(2));
  await expect(bad).rejects.toThrow('not 1');
  await expect(good).resolves.toBeUndefined();
});
