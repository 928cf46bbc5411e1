import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '../../src');

interface Import {
  from: string;
  /** A path inside src/, or the name of a package. */
  to: string;
  typeOnly: boolean;
}

const files = globSync('**/*.ts', { cwd: src }).sort();
const contents = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
const imports = [...contents].flatMap(([from, content]) =>
  [...content.matchAll(/^(?:import|export)\b(?:([^'";=]*?)\bfrom)?\s*'([^']+)'|\bimport\('([^']+)'\)/gm)].map(
    ([, clause, stated, dynamic]): Import => {
      const name = stated ?? dynamic ?? '';
      const to = name.startsWith('.') ? relative(src, join(src, dirname(from), name)) : name;
      return { from, to, typeOnly: /^\s*type\b/.test(clause ?? '') };
    },
  ),
);

/** The room a file stands in: its folder, or for the files of src/ itself their name. */
const roomOf = (path: string) => (path.includes('/') ? dirname(path).split('/')[0] : path.replace('.ts', '')) ?? '';

/** What each room may import, itself aside. Everyone may import the types of config. */
const allowed: Record<string, readonly string[]> = {
  main: [
    'app',
    'welcome',
    'rest',
    'graphql',
    'jobs',
    'http',
    'core',
    'manufacturers',
    'entities',
    'migrations',
    'config',
  ],
  'compile-cache': [],
  welcome: ['http'],
  commands: ['http'],
  app: ['rest', 'graphql', 'jobs', 'http', 'core', 'manufacturers', 'entities', 'config'],
  rest: ['http', 'core'],
  graphql: ['http', 'core'],
  jobs: ['http', 'core'],
  http: ['core', 'config'],
  core: ['manufacturers', 'entities'],
  manufacturers: [],
  entities: ['config'],
  migrations: ['entities', 'config'],
  config: ['manufacturers'],
  telemetry: [],
};
/** What every room may import. */
const everyones = 'telemetry';

/** Packages that have their place in some rooms only. */
const places: { packages: RegExp; rooms: readonly string[] }[] = [
  { packages: /^(@mikro-orm\/|kysely$|pg$|@electric-sql\/)/, rooms: ['main', 'app', 'core', 'entities', 'migrations'] },
  { packages: /^(express$|graphql-yoga$|graphql-upload-minimal)/, rooms: ['main', 'app', 'rest', 'graphql', 'http'] },
  { packages: /^(graphql$|@pothos\/)/, rooms: ['graphql'] },
  { packages: /^@opentelemetry\//, rooms: ['telemetry'] },
];

test('imports run one way: main, app, faces, http, core, then manufacturers and entities', () => {
  const wrong = imports
    .filter(({ to }) => files.includes(to))
    .filter(({ from, to }) => roomOf(from) !== roomOf(to) && !allowed[roomOf(from)]?.includes(roomOf(to)))
    .filter(({ to, typeOnly }) => !(typeOnly && roomOf(to) === 'config') && roomOf(to) !== everyones)
    .map(({ from, to }) => `${from} imports ${to}`);
  expect(wrong).toEqual([]);
});

test('every import between our own files leads to one', () => {
  const inside = imports.filter(({ from, to }) => roomOf(to) in allowed && to !== from && to.endsWith('.ts'));
  expect(inside.filter(({ to }) => !files.includes(to)).map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  expect(inside.length).toBeGreaterThan(0);
});

test('SQL stays below the faces, HTTP and GraphQL above core', () => {
  const wrong = imports
    .filter(({ from, to }) => places.some(({ packages, rooms }) => packages.test(to) && !rooms.includes(roomOf(from))))
    .map(({ from, to }) => `${from} imports ${to}`);
  expect(wrong).toEqual([]);
});

test('no file is longer than 250 lines', () => {
  const long = [...contents].filter(([, content]) => content.split('\n').length > 251).map(([file]) => file);
  expect(long).toEqual([]);
});

test('every file stands in a room of its own kind', () => {
  expect(files.filter((file) => !(roomOf(file) in allowed))).toEqual([]);
});
