import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig, settings } from '../../src/config.ts';
import { statusOf } from '../../src/http/status.ts';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** The cells of each row of the table behind a mark, without its head. */
function tableAt(mark: string): string[][] {
  const [, table = ''] = new RegExp(`<!-- ${mark} -->\\n((?:\\|.*\\n)+)`).exec(readme) ?? [];
  const rows = table.trim().split('\n').slice(2);
  return rows.map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim())).map(([, ...cells]) => cells);
}

const codesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');

test("README's settings are those that there are, with their defaults", () => {
  const written = tableAt('settings').flatMap(([names, defaults]) => {
    const values = codesIn(defaults);
    return codesIn(names).map((name, index) => [name, values[index]]);
  });
  const defaults = { ...settings.parse({}), CONTRACTS_AUTH: readConfig({}).CONTRACTS_AUTH };
  const real = Object.entries(defaults).map(([name, value]) => [name, asWritten(value)]);
  const unset = Object.keys(settings.shape).filter((name) => !(name in defaults));
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries([...real, ...unset.map((name) => [name, undefined])]));
  expect(written).toHaveLength(Object.keys(settings.shape).length);
});

function asWritten(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return value === undefined || (Array.isArray(value) && value.length === 0) ? undefined : String(value);
}

test("README's codes are those that there are, with their statuses", () => {
  const written = tableAt('codes').flatMap(([codes, status]) => codesIn(codes).map((code) => [code, Number(status)]));
  expect(Object.fromEntries(written)).toEqual(statusOf);
  expect(written).toHaveLength(Object.keys(statusOf).length);
});

test("README's commands are there", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const named = [...readme.matchAll(/npm run (?:-s )?([\w-]+)/g)].map(([, name]) => name ?? '');
  expect(named).not.toEqual([]);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});
