import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, type VulnerableDiagnostics } from 'recheck';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../src');

interface Expressions {
  literals: { source: string; flags: string; file: string }[];
  /** Files that compile regular expressions from texts. */
  computed: string[];
}

/** Every regular expression in the source, found by a JavaScript parser. */
function findAll(): Expressions {
  const found: Expressions = { literals: [], computed: [] };
  for (const file of globSync('**/*.{ts,js}', { cwd: root })) {
    const { program, errors } = parseSync(file, readFileSync(join(root, file), 'utf8'));
    expect(errors).toEqual([]);
    JSON.stringify(program, (_, node) => {
      if (node?.type === 'Literal' && node.regex)
        found.literals.push({ source: node.regex.pattern, flags: node.regex.flags, file });
      if (/^(New|Call)Expression$/.test(node?.type) && node.callee.name === 'RegExp') found.computed.push(file);
      return typeof node === 'bigint' ? String(node) : node;
    });
  }
  return found;
}

const { literals, computed } = findAll();

const LONGEST = 300_000;
const LONG_MS = 40;

/** Whether recheck's attack is slow in V8: some of its suspicions hold for its own interpreter only. */
function isSlow(pattern: RegExp, { attack, complexity }: VulnerableDiagnostics): boolean {
  if (complexity.type === 'exponential') return true;
  const textOf = (repeat: number) =>
    attack.pumps.map(({ prefix, pump }) => prefix + pump.repeat(repeat)).join('') + attack.suffix;
  const msOf = (text: string) => {
    const before = process.threadCpuUsage();
    text.replace(pattern, '');
    return process.threadCpuUsage(before).user / 1000;
  };
  // One run may wait for the garbage collector, or for V8 to compile.
  const leastMsOf = (repeat: number) => Math.min(...Array.from({ length: 3 }, () => msOf(textOf(repeat))));
  let repeat = 16;
  while (textOf(repeat).length < LONGEST && leastMsOf(repeat) < LONG_MS) repeat *= 2;
  const [quarter, whole] = [leastMsOf(repeat / 4), leastMsOf(repeat)];
  return whole > LONG_MS / 4 && whole > 8 * quarter;
}

test.each([
  ['"[^"]*"|\\[(?!h+\\])[^\\]]*\\]', true],
  ['[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+', true],
  ['(?:a|a)+$', true],
  ['^(?=.*[a-z])[a-z\\d-]{14,20}$', false],
])('whether the time of %s grows too fast: %s', async (source, slow) => {
  const diagnostics = await check(source, 'g', { timeout: 60_000, randomSeed: 1 });
  expect(diagnostics.status === 'vulnerable' && isSlow(new RegExp(source, 'g'), diagnostics)).toBe(slow);
});

test('every regular expression takes linear time', async () => {
  expect(literals.length).toBeGreaterThan(50);
  const slow: unknown[] = [];
  for (const { source, flags, file } of literals) {
    const diagnostics = await check(source, flags, { timeout: 60_000, randomSeed: 1 });
    if (diagnostics.status === 'safe') continue;
    const { status } = diagnostics;
    if (status === 'unknown') slow.push({ file, source, status });
    else if (isSlow(new RegExp(source, flags), diagnostics))
      slow.push({ file, source, text: diagnostics.attack.pattern });
  }
  expect(slow).toEqual([]);
});

test('only core/sql/resource.ts compiles regular expressions, from its own texts', () => {
  expect(computed).toEqual(['core/sql/resource.ts']);
});
