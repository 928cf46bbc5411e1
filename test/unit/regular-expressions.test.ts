import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check } from 'recheck';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../src');

interface Found {
  literals: { source: string; flags: string; file: string }[];
  /** Files that make regular expressions of texts. */
  computed: string[];
}

/** Every regular expression in the source, as the parser of its language finds them. */
function findAll(): Found {
  const found: Found = { literals: [], computed: [] };
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

test('no text makes a regular expression take more than time in proportion to its length', {
  timeout: 120_000,
}, async () => {
  expect(literals.length).toBeGreaterThan(50);
  const slow: unknown[] = [];
  for (const { source, flags, file } of literals) {
    const diagnostics = await check(source, flags, { timeout: 20_000, randomSeed: 1 });
    if (diagnostics.status === 'safe') continue;
    const { status } = diagnostics;
    const text = status === 'vulnerable' ? diagnostics.attack.pattern : '';
    slow.push({ file, source, status, text });
  }
  expect(slow).toEqual([]);
});

test('regular expressions are made of texts only where these are the own ones', () => {
  expect(computed).toEqual(['core/sql/resource.ts']);
});
