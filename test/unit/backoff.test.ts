import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Context } from '../../src/core/context.ts';
import { type Activity, activityOf, Backoff, inTurns, stepOfEach, type Tools } from '../../src/jobs/job.ts';

/** Stops the clock of durations; the returned function advances it. */
function holdClock(): (ms: number) => void {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  return (ms) => {
    now += ms;
  };
}

/** The waiting times of empty steps with this activity before them. */
async function pauses(activity: Activity, steps = 1): Promise<number[]> {
  const waited: number[] = [];
  const step = new Backoff(activity, async (ms) => void waited.push(ms)).steps();
  for (let at = 0; at < steps; at++) await step(async () => {});
  return waited;
}

test('without requests background work waits for nothing, however busy the process is', async () => {
  expect(await pauses({ requests: () => 0, utilisation: () => 1 }, 100)).toEqual([]);
});

test('beside requests, work waits longer in a busier process, up to a limit', async () => {
  const part = fc.double({ min: 0, max: 1, noNaN: true });
  await fc.assert(
    fc.asyncProperty(part, part, async (one, other) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      const [[short = 0], [long = 0]] = (await Promise.all(
        [less, more].map((utilisation) => pauses({ requests: () => 1, utilisation: () => utilisation })),
      )) as [number[], number[]];
      expect(short).toBeLessThanOrEqual(long);
      expect(long).toBeLessThanOrEqual(50);
    }),
  );
  expect(await pauses({ requests: () => 1, utilisation: () => 0.3 })).toEqual([]);
  expect(await pauses({ requests: () => 1, utilisation: () => 1 })).toEqual([50]);
});

test('a job may wait longer than others', async () => {
  const waited: number[] = [];
  const backoff = new Backoff({ requests: () => 1, utilisation: () => 1 }, async (ms) => void waited.push(ms));
  const [usual, patient] = [backoff.steps(), backoff.steps(500)];
  await usual(async () => {});
  expect(waited).toEqual([50]);
  await patient(async () => {});
  expect(waited.reduce((sum, ms) => sum + ms)).toBe(50 + 500);
});

test('a long pause ends soon after a moment in which the process was busy', async () => {
  const passTime = holdClock();
  let waited = 0;
  const activity = { requests: () => waited + 1, utilisation: () => (waited < 100 ? 1 : 0) };
  const backoff = new Backoff(activity, async (ms) => {
    waited += ms;
    passTime(ms);
  });
  await backoff.steps(1000)(async () => {});
  expect(waited).toBe(100);
});

test('beside requests, a step waits as long as the last one took', async () => {
  const passTime = holdClock();
  const waited: number[] = [];
  let requests = 0;
  const activity = { requests: () => ++requests, utilisation: () => 0 };
  const step = new Backoff(activity, async (ms) => void waited.push(ms)).steps();
  await step(async () => passTime(30));
  expect(waited).toEqual([]);
  await step(async () => {});
  expect(waited).toEqual([30]);
  await step(async () => {});
  expect(waited).toEqual([30]);
});

test('the error of a step reaches its caller', async () => {
  const step = new Backoff({ requests: () => 1, utilisation: () => 1 }, async () => {}).steps();
  await expect(step(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
});

test('the activity of a process: its requests, and a part of its time', () => {
  const server = new EventEmitter();
  const activity = activityOf(server);
  server.emit('request');
  server.emit('request');
  expect(activity.requests()).toBe(2);
  fc.sample(fc.string(), 1000);
  expect(activity.utilisation()).toBeGreaterThanOrEqual(0);
  expect(activity.utilisation()).toBeLessThanOrEqual(1);
});

test('a company whose step fails is left out for ten seconds, and many that fail end the round', async () => {
  const pass = holdClock();
  const broken = new Set(['b']);
  const done: string[] = [];
  const failed: unknown[] = [];
  const tools: Tools = {
    open: () => ({ services: {} }) as Context,
    withBackoff: (step) => step(),
    onError: (error) => void failed.push(error),
  };
  const round = stepOfEach(tools, async (_, company) => {
    if (broken.has(company)) throw company;
    done.push(company);
    return company === 'c';
  });
  const run = (companies: string[]) => round({} as Context, companies, new AbortController().signal);
  expect(await run(['a', 'b', 'c'])).toEqual({ done: 2, more: true });
  expect(await run(['b'])).toEqual({ done: 0, more: false });
  expect(failed).toEqual(['b']);
  broken.clear();
  pass(10_000);
  expect(await run(['b'])).toEqual({ done: 1, more: false });
  expect(done).toEqual(['a', 'c', 'b']);

  for (const company of ['d', 'e', 'f']) broken.add(company);
  await expect(run(['d', 'e', 'f', 'g'])).rejects.toBe('f');
  expect(await run(['d', 'e', 'f', 'g'])).toEqual({ done: 1, more: false });
});

test('companies whose steps fail keep no later one from its turn, in this run or the next', async () => {
  const pass = holdClock();
  const left: Record<string, number> = { a: 2, b: 2, c: 2, d: 2, e: 1 };
  const broken = new Set(['a']);
  const failed: unknown[] = [];
  const tools: Tools = {
    open: () => ({ services: {} }) as Context,
    withBackoff: (step) => step(),
    onError: (error) => void failed.push(error),
  };
  const find = async (_: Context, after = { company: '' }) =>
    Object.keys(left).flatMap((company) => (left[company] && company > after.company ? [{ company }] : []));
  const job = inTurns(tools, find, async (_, { company }) => {
    if (broken.has(company)) throw company;
    left[company] = (left[company] ?? 0) - 1;
    return left[company] > 0;
  });
  const run = () => job.run(new AbortController().signal);
  expect(await run()).toBeNull();
  expect(left).toEqual({ a: 2, b: 0, c: 0, d: 0, e: 0 });
  expect(failed).toEqual(['a']);

  pass(10_000);
  for (const company of 'bcd') left[company] = 2;
  for (const company of 'bc') broken.add(company);
  // Three failures may be everybody's: the run ends, and the next one leaves these companies out.
  await expect(run()).rejects.toBe('c');
  expect(left).toMatchObject({ d: 2 });
  expect(await run()).toBeNull();
  expect(left).toEqual({ a: 2, b: 2, c: 2, d: 0, e: 0 });
  expect(failed).toEqual(['a', 'a', 'b']);

  broken.clear();
  pass(10_000);
  expect(await run()).toBeNull();
  expect(Object.values(left)).toEqual([0, 0, 0, 0, 0]);
});
