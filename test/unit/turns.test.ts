import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { RequestTurns } from '../../src/fairness/turns.ts';

let now = 0;
const newTurns = () => new RequestTurns({ clock: () => now });
/** Advances the clock of the turns by the work of a request. */
const work = (ms: number) => {
  now += ms;
};

/** Sends requests of one company together; notes the company as each begins. */
function send(turns: RequestTurns, company: string, { count, ms }: { count: number; ms: number }, begun: string[]) {
  return Array.from({ length: count }, async () => {
    await turns.next(company);
    begun.push(company);
    work(ms);
  });
}

test('while requests are short, they begin in order of arrival', async () => {
  const begun: string[] = [];
  const turns = newTurns();
  const all = ['a', 'a', 'b', 'a'].flatMap((company) => send(turns, company, { count: 1, ms: 0 }, begun));
  await Promise.all(all);
  expect(begun).toEqual(['a', 'a', 'b', 'a']);
});

test('beside many expensive requests of one company, that of another waits for one at a time', async () => {
  const begun: string[] = [];
  const turns = newTurns();
  await Promise.all(send(turns, 'large', { count: 1, ms: 8 }, begun));
  const dear = send(turns, 'large', { count: 20, ms: 8 }, begun);
  await nextTurn();
  const before = begun.length;
  expect(before).toBeLessThan(5);
  await Promise.all(send(turns, 'small', { count: 1, ms: 0 }, begun));
  expect(begun.indexOf('small') - before).toBeLessThanOrEqual(1);
  await Promise.all(dear);
  expect(begun.filter((company) => company === 'large')).toHaveLength(21);
});

test('waiting companies take turns', async () => {
  const begun: string[] = [];
  const turns = newTurns();
  await Promise.all(send(turns, 'first', { count: 1, ms: 8 }, begun));
  await Promise.all(['a', 'b', 'c'].flatMap((company) => send(turns, company, { count: 4, ms: 8 }, begun)));
  expect(begun.slice(1).join('')).toBe('abcabcabcabc');
});

test('a request that comes while others wait begins after them', async () => {
  const begun: string[] = [];
  const turns = newTurns();
  await Promise.all(send(turns, 'a', { count: 1, ms: 8 }, begun));
  const waiting = ['b', 'c', 'd', 'e'].flatMap((company) => send(turns, company, { count: 1, ms: 0 }, begun));
  await nextTurn();
  expect(begun).toEqual(['a', 'b']);
  await Promise.all([...waiting, ...send(turns, 'late', { count: 1, ms: 0 }, begun)]);
  expect(begun.join()).toBe('a,b,c,d,e,late');
});

test('short requests behind a long one begin in growing groups', async () => {
  const turns = newTurns();
  await turns.next('a');
  work(8);
  let isLeft = 0;
  const waiting = Array.from({ length: 200 }, () => turns.next('a')?.then(() => (isLeft -= 1)));
  isLeft = waiting.filter(Boolean).length;
  expect(isLeft).toBe(200);
  let loops = 0;
  for (; isLeft > 0; loops++) await nextTurn();
  expect(loops).toBeLessThan(100);
});

test('a single company never waits', async () => {
  const turns = newTurns();
  await turns.next('a');
  work(60_010);
  await nextTurn();
  await turns.next('a');
  work(8);
  expect(turns.next('a')).toBeUndefined();
  expect(turns.next('b')).toBeInstanceOf(Promise);
  expect(turns.next('a')).toBeInstanceOf(Promise);
});

test('a company is alone a minute after the last request of another', async () => {
  const turns = newTurns();
  await turns.next('a');
  await turns.next('b');
  expect(turns.isAlone('b')).toBe(false);
  work(59_999);
  expect(turns.isAlone('b')).toBe(false);
  work(1);
  await turns.next('b');
  expect([turns.isAlone('b'), turns.isAlone('a')]).toEqual([true, false]);
});
