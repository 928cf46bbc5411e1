import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { batched } from '../../src/jobs/job.ts';
import { until } from '../support/until.ts';

test('items that arrive during a batch or its pause form the next batch, in order', async () => {
  const done: number[][] = [];
  const pauses: PromiseWithResolvers<void>[] = [];
  const works: PromiseWithResolvers<void>[] = [];
  const next = (list: PromiseWithResolvers<void>[]) => {
    const one = Promise.withResolvers<void>();
    list.push(one);
    return one.promise;
  };
  const work = (items: readonly number[]) => {
    done.push([...items]);
    return next(works);
  };
  const add = batched(work, { pause: () => next(pauses) });
  const first = [add(0)];
  await until(() => pauses[0]);
  first.push(add(1));
  pauses[0]?.resolve();
  await until(() => works[0]);
  const second = [2, 3, 4].map(add);
  works[0]?.resolve();
  await Promise.all(first);
  expect(done).toEqual([[0, 1]]);
  await until(() => pauses[1]);
  pauses[1]?.resolve();
  await until(() => works[1]);
  works[1]?.resolve();
  await Promise.all(second);
  expect(done).toEqual([
    [0, 1],
    [2, 3, 4],
  ]);
});

test('a batch has at most the allowed number of items, and no item is lost', async () => {
  const done: number[][] = [];
  const add = batched(
    async (items: readonly number[]) => {
      await setImmediate();
      done.push([...items]);
    },
    { most: 3, pause: ({ length }) => (length < 3 ? setImmediate() : undefined) },
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
    await setImmediate();
    if (items.includes(1)) throw new Error('not 1');
  });
  const bad = add(1);
  const good = setImmediate().then(() => add(2));
  await expect(bad).rejects.toThrow('not 1');
  await expect(good).resolves.toBeUndefined();
});
