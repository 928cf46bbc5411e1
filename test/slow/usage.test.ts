// `--help` of every command.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** The Node arguments of each own command of the project. */
const commands = Object.entries<string>(scripts).flatMap(([name, script]) => {
  const command = /^node .*/.exec(script.split(' && ').at(-1) ?? '');
  return command ? [[name, command[0].split(' ').slice(1)] as const] : [];
});

test.each(commands)('npm run %s -- --help prints its usage and starts nothing', (_name, args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, '--help'], { cwd: root, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/npm (?:start|run)/);
});

test.each(commands)('npm run %s names an unknown option', (_name, args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, '--flet'], { cwd: root, encoding: 'utf8' });
  expect([status, stdout]).toEqual([expect.toBeOneOf([1, 2]), '']);
  expect(stderr).toContain("Unknown option '--flet'");
});
