import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Undocumented members of Node and of packages, and functions that replace theirs. */
const names = [
  '_httpMessage',
  '_handle',
  '_writableState',
  '_readableState',
  'writeQueueSize',
  'Reflect.construct',
  'setPrototypeOf',
  'process.binding',
  'parsedStatements',
  'readyForQuery',
  'connection.stream',
  'app._router',
  '_socket',
  '_receiver',
  '_sender',
  'req.pipe =',
  'connection.transactional =',
];

/** The only documented use of a prototype here is calling a method of a documented class. */
const prototypes = /\bprototype\b(?!\.close\.call\(server)/;
/** A file that its package does not export. */
const deepImports = /from '(?!\.)[^']*\/(?:dist|lib|src|build)\//;

const files = globSync('src/**/*.{ts,js}', { cwd: root, exclude: ['src/console/browser/**'] });
const uses = files.flatMap((file) =>
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line))
    .flatMap((line) => [
      ...names.filter((name) => line.includes(name)),
      ...(prototypes.test(line) ? ['prototype'] : []),
      ...(deepImports.test(line) ? ['a deep import'] : []),
    ])
    .map((name) => `${file}: ${name}`),
);

test('undocumented members of Node and packages are not used', () => {
  expect(files.length).toBeGreaterThan(200);
  expect(uses).toEqual([]);
});
