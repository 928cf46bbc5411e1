import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { rounds } from '../../src/jobs/job.ts';

let now = 0;
beforeEach(() => void vi.spyOn(performance, 'now').mockImplementation(() => now));
afterEach(() => void vi.restoreAllMocks());

const fails = () => Promise.reject(new Error('cannot be recorded'));
const works = () => Promise.resolve('done');

function start() {
  const errors: unknown[] = [];
  const begin = rounds({ open: () => ({ services: {} }) as never, onError: (error) => void errors.push(error) });
  return { begin, errors };
}

test('a company whose step failed is left out for ten seconds, in later rounds too, and no other is', async () => {
  const { begin, errors } = start();
  const round = begin();
  expect(await round('acme', fails)).toBeNull();
  expect(await round('acme', works)).toBeNull();
  expect(await round('globex', works)).toEqual({ left: 'done' });
  now += 9_000;
  expect(await begin()('acme', works)).toBeNull();
  now += 2_000;
  expect(await begin()('acme', works)).toEqual({ left: 'done' });
  expect(errors).toHaveLength(1);
});

test('three failures in a round are the job’s, and fewer in each of several rounds are not', async () => {
  const { begin } = start();
  for (const companies of [
    ['a', 'b'],
    ['c', 'd'],
    ['e', 'f'],
  ]) {
    const round = begin();
    for (const company of companies) expect(await round(company, fails)).toBeNull();
  }
  const round = begin();
  for (const company of ['g', 'h']) expect(await round(company, fails)).toBeNull();
  await expect(round('i', fails)).rejects.toThrow('cannot be recorded');
});
