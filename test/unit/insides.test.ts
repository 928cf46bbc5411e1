import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Members of Node and of packages that no documentation names, and functions of theirs that would be replaced. */
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

/** A prototype is documented as far as it is that of a documented class whose method is called. */
const prototypes = /\bprototype\b(?!\.close\.call\(server)/;
/** A file of a package that the package does not export. */
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

test('nothing undocumented of Node or of a package is read, replaced or patched', () => {
  expect(files.length).toBeGreaterThan(200);
  expect(uses).toEqual([]);
});
