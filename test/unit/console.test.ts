import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, validate } from 'graphql';
import { expect, test, vi } from 'vitest';
import { loadConsole } from '../../src/console/index.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

const folder = join(import.meta.dirname, '../../src/console/browser');
const modules = globSync('{*,languages/*}.js', { cwd: folder }).sort();
const contents = modules.map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);

test('the documents of the console fit the schema', () => {
  const fragments = new Map(
    contents.flatMap(([, text]) =>
      [...text.matchAll(/export const (\w+Data) = `([^`]+)`/g)].map(([, name, text]) => [name, text]),
    ),
  );
  const written = contents
    .filter(([name]) => !name.startsWith('languages/'))
    .map(
      ([name, text]) =>
        [name, text.replaceAll(/\$\{(\w+Data)\}/g, (_, fragment) => fragments.get(fragment) ?? '')] as const,
    );
  const documents = written.flatMap(([name, text]) =>
    [
      ...text.matchAll(
        /`((?:query|mutation|subscription) \w+[^`]*|\{ ?\n?[^`]*\})`|'((?:query|mutation|subscription) \w+[^']*|\{ [^']*\})'/g,
      ),
    ].map(([, long, short]) => ({ name, document: long ?? short ?? '' })),
  );
  expect(documents.length).toBeGreaterThan(12);
  const wrong = documents.flatMap(({ name, document }) =>
    validate(graphqlSchema, parse(document)).map(({ message }) => `${name}: ${message}`),
  );
  expect(wrong).toEqual([]);
});

test('modules of the console import each other and its libraries, and are all used', async () => {
  const { libraries } = await loadConsole();
  const imports = contents.flatMap(([name, text]) =>
    [...text.matchAll(/^import .*?'([^']+)';$|^\} from '([^']+)';$|\bimport\('([^']+)'\)/gm)].map(
      ([, one, other, later]) => ({ name, to: one ?? other ?? later ?? '' }),
    ),
  );
  const known = [...modules.map((name) => `./${name}`), ...Object.keys(libraries)];
  expect(imports.filter(({ to }) => !known.includes(to))).toEqual([]);
  const used = new Set(imports.map(({ to }) => to.replace('./', '')));
  expect(modules.filter((name) => !used.has(name))).toEqual(['app.js', 'theme.js']);
});

test('the console obeys a strict Content-Security-Policy', () => {
  const forbidden = /\bstyle="|innerHTML|\beval\(|new Function|https?:\/\/\w/;
  expect(contents.filter(([, text]) => forbidden.test(text)).map(([name]) => name)).toEqual([]);
  expect(contents.filter(([, text]) => text.split('\n').length > 200).map(([name]) => name)).toEqual([]);
});

test('the files of a first visit leave room for its answers, and the console has at most 4,600 lines', async () => {
  const { files, first } = await loadConsole();
  const contentOf = new Map(files);
  const all = [...first, 'console.css', 'theme.js', 'icon.svg', 'languages/fr.json'];
  // console-visit.test.ts counts them with the page and its answers: 200 kB and 40 requests.
  expect(all.length).toBeLessThan(37);
  expect(all.reduce((sum, path) => sum + (contentOf.get(path)?.length ?? 0), 0)).toBeLessThan(190_000);
  const own = globSync('**/*', { cwd: join(folder, '..'), withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.parentPath.endsWith('languages'),
  );
  const lines = own.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').split('\n').length - 1);
  expect(lines.reduce((sum, one) => sum + one, 0)).toBeLessThan(4_600);
});

test('an address that cannot be decoded matches no page', async () => {
  vi.stubGlobal('location', { hash: '#/%E0%A4%A/caf%C3%A9?after=%E0%A4%A' });
  vi.stubGlobal('addEventListener', () => {});
  const { route } = await import(`${folder}/router.js`).finally(() => vi.unstubAllGlobals());
  expect(route.value.parts).toEqual(['%E0%A4%A', 'café']);
});
