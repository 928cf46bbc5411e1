import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { contents, doors, drawRooms, everyones, type Import, imports, picturePattern, src } from '../support/rooms.ts';

const files = [...contents.keys()];
const parts = Object.keys(doors);

/** The room of a file: its part, or its folder, at most two levels deep, or its name for files of src/ itself. */
const roomOf = (path: string) => {
  if (!path.includes('/')) return path.replace('.ts', '');
  const folders = dirname(path).split('/');
  return folders.slice(0, (folders[0] ?? '') in doors ? 1 : 2).join('/');
};

/** Rooms from top to bottom, with the rooms that each may import. All may import types of config. */
const allowed: Record<string, readonly string[]> = {
  main: [
    ...[
      'app',
      'config',
      'database',
      'fairness',
      'graphql/transport',
      'manufacturers',
      'core',
      'core/activation',
      'core/imports',
      'core/moves',
      'jobs',
      'http',
    ],
    ...['http/connections', 'http/identity', 'http/observability', 'http/pages'],
  ],
  commands: [
    'fairness',
    'vin-files',
    'config',
    'core',
    'core/activation',
    'core/moves',
    'database',
    'manufacturers',
    'graphql/schema',
    'http/identity',
    'rest/openapi',
  ],
  app: ['core', 'graphql', 'http', 'http/observability', 'http/pages', 'rest', 'rest/openapi'],
  console: [],
  rest: [
    'vin-files',
    'core/companies',
    ...[
      'rest/openapi',
      'http',
      'http/connections',
      'core',
      'core/activation',
      'core/contracts',
      'core/events',
      'core/fleets',
    ],
    ...['core/following', 'core/imports', 'core/operations', 'core/reads', 'core/sql', 'core/vehicles'],
    'core/webhooks',
  ],
  'rest/openapi': [
    ...[
      'rest',
      'http',
      'core',
      'core/activation',
      'core/contracts',
      'core/events',
      'core/fleets',
      'core/imports',
      'core/reads',
      'core/sql',
    ],
    ...['core/vehicles', 'core/webhooks'],
  ],
  graphql: [...['graphql/execution', 'graphql/schema', 'graphql/transport', 'http', 'http/connections', 'core']],
  'graphql/schema': [
    'vin-files',
    ...['http', 'core', 'core/activation', 'core/contracts', 'core/events', 'core/fleets'],
    ...['core/following', 'core/imports', 'core/operations', 'core/reads', 'core/sql', 'core/vehicles'],
    'core/webhooks',
  ],
  'graphql/execution': ['core/companies', 'graphql/schema', 'http', 'core', 'core/reads', 'core/sql'],
  'graphql/transport': [
    'fairness',
    ...['graphql/execution', 'graphql/schema', 'http', 'http/connections', 'http/pages', 'core'],
  ],
  jobs: [
    'core/companies',
    'fairness',
    'core',
    'core/activation',
    'core/contracts',
    'core/events',
    'core/imports',
    'core/operations',
    'core/sql',
    'core/vehicles',
    'core/webhooks',
  ],
  http: ['http/connections', 'http/identity', 'core'],
  'http/connections': ['core'],
  'http/identity': ['core', 'database'],
  'http/observability': ['http', 'core', 'core/operations'],
  'http/pages': ['console', 'http'],
  core: ['database', 'entities', 'fairness', 'manufacturers'],
  'core/operations': [
    'core/companies',
    'core',
    'core/events',
    'core/fleets',
    'core/imports',
    'core/sql',
    'core/vehicles',
  ],
  'core/reads': [
    ...[
      'vin-files',
      'core',
      'core/activation',
      'core/contracts',
      'core/events',
      'core/fleets',
      'core/imports',
      'core/sql',
      'core/vehicles',
      'core/webhooks',
    ],
  ],
  'core/following': [
    'core',
    'core/contracts',
    'core/events',
    'core/fleets',
    'core/imports',
    'core/sql',
    'core/vehicles',
  ],
  'core/webhooks': ['core/companies', 'core', 'core/events', 'core/sql', 'entities', 'manufacturers'],
  'core/imports': [
    'vin-files',
    'core/companies',
    'core',
    'core/events',
    'core/fleets',
    'core/sql',
    'core/vehicles',
    'entities',
    'fairness',
    'manufacturers',
  ],
  'core/contracts': [
    'vin-files',
    'core/activation',
    'core/companies',
    'core',
    'core/events',
    'core/fleets',
    'core/sql',
    'core/vehicles',
    'entities',
  ],
  'core/vehicles': [
    'vin-files',
    'core/companies',
    'core',
    'core/activation',
    'core/events',
    'core/fleets',
    'core/sql',
    'entities',
    'manufacturers',
  ],
  'core/activation': ['core/companies', 'core', 'core/events', 'core/sql', 'manufacturers'],
  'core/fleets': ['core', 'core/events', 'core/sql', 'entities'],
  'core/moves': ['core', 'core/sql', 'database'],
  'core/events': ['vin-files', 'core/companies', 'core', 'core/sql', 'entities'],
  'core/companies': ['core', 'core/sql'],
  'core/sql': ['core', 'database', 'entities'],
  manufacturers: [],
  'vin-files': [],
  database: ['entities'],
  entities: [],
  migrations: [],
  config: ['database', 'manufacturers', 'trusted-documents'],
  'trusted-documents': [],
  telemetry: [],
  fairness: [],
};

/** Packages that only some rooms may import. */
const places: { packages: RegExp; rooms: readonly string[] }[] = [
  { packages: /^(@mikro-orm\/|kysely$|pg$|@electric-sql\/)/, rooms: ['core', 'database', 'entities', 'migrations'] },
  {
    packages: /^(express$|graphql-yoga$|graphql-upload-minimal|graphql-ws$|ws$)/,
    rooms: ['app', 'rest', 'graphql', 'http'],
  },
  { packages: /^(graphql$|@pothos\/)/, rooms: ['graphql', 'commands'] },
  { packages: /^@opentelemetry\//, rooms: ['telemetry'] },
];

test('imports run one way: main, app, interfaces, http, core, database, then entities', () => {
  const wrong = imports
    .filter(({ to }) => files.includes(to))
    .filter(({ from, to }) => roomOf(from) !== roomOf(to) && !allowed[roomOf(from)]?.includes(roomOf(to)))
    .filter(({ to, typeOnly }) => !(typeOnly && roomOf(to) === 'config') && roomOf(to) !== everyones)
    .map(({ from, to }) => `${from} imports ${to}`);
  expect(wrong).toEqual([]);
});

test('every permitted import occurs', () => {
  const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} imports ${roomOf(to)}`));
  const spare = Object.entries(allowed).flatMap(([from, rooms]) => rooms.map((to) => `${from} imports ${to}`));
  expect(spare.filter((one) => !used.has(one))).toEqual([]);
});

test('the picture of rooms in docs/architecture.md is that of the imports', () => {
  const [drawn] = picturePattern.exec(readFileSync(join(src, '../docs/architecture.md'), 'utf8')) ?? [];
  expect(drawn, 'npx node test/support/rooms.ts draws it').toBe(drawRooms());
});

test('a part that stands alone is imported by its door, and imports no other room', () => {
  const wrong = imports
    .filter(({ from, to }) => roomOf(from) !== roomOf(to) && doors[roomOf(to)]?.includes(to) === false)
    .map(({ from, to }) => `${from} imports ${to}`);
  expect(wrong).toEqual([]);
  const others = imports.filter(({ from, to }) => roomOf(from) in doors && files.includes(to));
  expect(
    others.filter(({ from, to }) => roomOf(from) !== roomOf(to)).map(({ from, to }) => `${from} imports ${to}`),
  ).toEqual([]);
});

test('others import each name of a door', () => {
  const named = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from '[^']*'/gm)].flatMap(
      ([, names = '']) => [...names.matchAll(/(?:type )?(\w+)(?: as \w+)?/g)].map(([, name = '']) => name),
    );
  const paths = globSync('{src,bench,test}/**/*.ts', {
    cwd: join(src, '..'),
    exclude: (path) => path.includes('node_modules'),
  });
  const spare = parts.flatMap((part) => {
    const others = paths.filter((path) => !path.startsWith(`src/${part}/`) && !path.startsWith(`test/unit/${part}/`));
    const used = new Set(others.flatMap((path) => named(join(src, '..', path))));
    return named(join(src, part, 'index.ts')).filter((name) => !used.has(name));
  });
  expect(spare).toEqual([]);
});

test("core's folders form no circle", () => {
  const folders = (room: string) => (allowed[room] ?? []).filter((to) => to.startsWith('core/'));
  const reached = (room: string, seen = new Set<string>()): Set<string> => {
    for (const to of folders(room)) if (!seen.has(to)) reached(to, seen.add(to));
    return seen;
  };
  const rooms = Object.keys(allowed).filter((room) => room.startsWith('core/'));
  expect(rooms.filter((room) => reached(room).has(room))).toEqual([]);
});

test('no two rooms import each other, but REST and its document', () => {
  const pairs = imports
    .filter(({ to }) => files.includes(to))
    .map(({ from, to }) => [roomOf(from), roomOf(to)] as const);
  const used = new Set(pairs.map(([from, to]) => `${from} and ${to}`));
  const both = pairs.filter(([from, to]) => from < to && used.has(`${to} and ${from}`)).map((one) => one.join(' and '));
  expect([...new Set(both)].sort()).toEqual(['rest and rest/openapi']);
});

/** Files that import each other, directly or indirectly; type imports count, too. */
function circlesOf(found: readonly Import[]): string[] {
  const next = new Map(files.map((file) => [file, found.filter(({ from }) => from === file).map(({ to }) => to)]));
  const reached = (file: string, seen = new Set<string>()): Set<string> => {
    for (const to of next.get(file) ?? []) if (!seen.has(to)) reached(to, seen.add(to));
    return seen;
  };
  return files.filter((file) => reached(file).has(file));
}

test('files form no circle', () => {
  expect(circlesOf(imports)).toEqual([]);
});

test('every import between our own files leads to an existing file', () => {
  const inside = imports.filter(({ from, to }) => roomOf(to) in allowed && to !== from && to.endsWith('.ts'));
  expect(inside.filter(({ to }) => !files.includes(to)).map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  expect(inside.length).toBeGreaterThan(0);
});

test('SQL stays below the interfaces, HTTP and GraphQL above core', () => {
  const wrong = imports
    .filter(({ from, to }) =>
      places.some(({ packages, rooms }) => packages.test(to) && !rooms.includes(roomOf(from).split('/')[0] ?? '')),
    )
    .map(({ from, to }) => `${from} imports ${to}`);
  expect(wrong).toEqual([]);
});

test('no file is longer than 250 lines', () => {
  const long = [...contents].filter(([, content]) => content.split('\n').length > 251).map(([file]) => file);
  expect(long).toEqual([]);
});

test('every file is in a known room', () => {
  expect(files.filter((file) => !(roomOf(file) in allowed))).toEqual([]);
});

test('every export is used by another file', () => {
  const others = globSync(['src/**/*.{ts,js}', 'test/**/*.ts', 'bench/*.ts', 'mikro-orm.config.ts'], {
    cwd: join(src, '..'),
    exclude: (path) => path.includes('node_modules'),
  }).map((path) => readFileSync(join(src, '..', path), 'utf8'));
  const imported = new Set(
    others.flatMap((content) =>
      [...content.matchAll(/^\s*(?:import|export)\s[^'";]*?\{([^}]*)\}|\{([^{}]*)\}\s*=\s*await import\(/gm)].flatMap(
        ([, stated, dynamic]) =>
          [...(stated ?? dynamic ?? '').matchAll(/(\w+)(?:(?: as |: )\w+)?/g)].map(([, name]) => name),
      ),
    ),
  );
  const own = [...contents].filter(([file]) => !/^migrations\/Migration/.test(file));
  const exported = own.flatMap(([file, content]) =>
    [
      ...content.matchAll(/^export (?:async |abstract )*(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm),
    ].map(([, name = '']) => ({ file, name })),
  );
  expect(exported.filter(({ name }) => !imported.has(name)).map(({ file, name }) => `${file} ${name}`)).toEqual([]);
  expect(exported.length).toBeGreaterThan(500);
});
