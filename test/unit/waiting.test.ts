import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Test files that need their own time-out, with reasons. */
const exceptions: Record<string, string> = {
  'test/notifications.test.ts': 'asserts a highest rate, which a slow machine cannot exceed',
  'test/unit/regular-expressions.test.ts': 'limits what the checker spends on one expression',
};

/** Patterns that make a test depend on the speed of the machine, with the alternative. */
const own: Record<string, RegExp> = {
  'sleeps: wait for a state by `until`, hold what answers by a promise, or use `stagger` for races':
    /node:timers(\/promises)?'|\bsetTimeout\(/,
  'has a time-out of its own: tests, hooks and waits have that of test/support/until.ts':
    /\btimeout: |^ *\}, [\d_]+\);|\bwaitFor\([^)]*[\d_]+\)|\b(until|some)\(.*, \d[\d_]{3,}\)/m,
  'measures elapsed time: say what happens in which order, or by which clock': /\bperformance\.now\(/,
};

/** Source without texts, which may be programs of other processes, and without the import of setImmediate. */
const read = async (path: string): Promise<string> =>
  (await readFile(path, 'utf8'))
    .replace(/^import \{ setImmediate(?: as \w+)? \} from 'node:timers\/promises';$/m, '')
    .replace(/(?<=[( ,])'[^'\n]*'(?!;)|`[^`]*`/g, "''");

test('no test sleeps, has a time-out of its own or measures how long something takes', async () => {
  const folders = ['test', 'test/unit'];
  const listed = await Promise.all(
    folders.map(async (folder) => (await readdir(folder)).map((name) => join(folder, name))),
  );
  const files = listed.flat().filter((path) => path.endsWith('.test.ts') && path !== 'test/unit/waiting.test.ts');
  const found: string[] = [];
  const needed = new Set<string>();
  for (const path of files) {
    const text = await read(path);
    for (const [fault, pattern] of Object.entries(own)) {
      if (!pattern.test(text)) continue;
      needed.add(path);
      if (!(path in exceptions)) found.push(`${path} ${fault}`);
    }
  }
  expect(found).toEqual([]);
  expect(Object.keys(exceptions).filter((path) => !needed.has(path))).toEqual([]);
});
