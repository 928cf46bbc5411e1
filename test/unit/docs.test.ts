import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig, settings } from '../../src/config.ts';
import { statusOf } from '../../src/core/errors.ts';
import { SESSION } from '../../src/database/session.ts';

const root = join(import.meta.dirname, '../..');
/** Without its examples, whose fences are no marks of names. */
const reference = readFileSync(join(root, 'docs/reference.md'), 'utf8').replaceAll(/^```.*?^```$/gms, '');

const operations = readFileSync(join(root, 'docs/operations.md'), 'utf8');

/** The cells of a table, by its mark, without the header. */
function tableAt(mark: string, document = reference): string[][] {
  const [, table = ''] = new RegExp(`<!-- ${mark} -->\\n((?:\\|.*\\n)+)`).exec(document) ?? [];
  const rows = table.trim().split('\n').slice(2);
  return rows.map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim())).map(([, ...cells]) => cells);
}

const codesIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');

test('the reference lists all settings with their defaults', () => {
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

test('operations list what every session sets, and a role has the same where a pooler passes nothing on', () => {
  const settings = tableAt('session', operations).map(([name, value]) => [codesIn(name)[0], codesIn(value)[0]]);
  expect(Object.fromEntries(settings)).toEqual(SESSION);
  const ofRole = [...operations.matchAll(/^alter role gateway set (\w+) = '(.*)';$/gm)].map(([, ...pair]) => pair);
  expect(Object.fromEntries(ofRole)).toEqual(SESSION);
});

test('the reference lists all codes with their statuses', () => {
  const written = tableAt('codes').flatMap(([codes, status]) => codesIn(codes).map((code) => [code, Number(status)]));
  expect(Object.fromEntries(written)).toEqual(statusOf);
  expect(written).toHaveLength(Object.keys(statusOf).length);
});

/** Codes are in capitals with an underscore. */
const codesOfSource = (path: string) =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/'([A-Z]+(?:_[A-Z]+)+)'/g)].map(([, code]) => code ?? '');

test('the reference lists all codes that only GraphQL has', () => {
  const sent = codesOfSource('src/graphql/execution/result-errors.ts').filter((code) => !(code in statusOf));
  expect(tableAt('graphql codes').flatMap(([codes]) => codesIn(codes))).toEqual([...new Set(sent)].sort());
  expect(sent).not.toEqual([]);
});

test('the reference names every code of a VIN, of a file and of a reason', () => {
  const named = new Set(codesIn(reference));
  const places = globSync('src/{core,vin-files,manufacturers}/**/*.ts', { cwd: root });
  const codes = places
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .flatMap((text) => [
      ...text.matchAll(/(?:\bcode: |unreadable(?:File|Row)Error\((?:[^()']|\([^)]*\))*)'([A-Z_]+)'/g),
    ])
    .map(([, code]) => code ?? '');
  expect([...new Set(codes)].filter((code) => !named.has(code))).toEqual([]);
  expect(codes.length).toBeGreaterThan(15);
});

test('the reference names every address of the REST API, and no other', () => {
  const { paths } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
  const [, table = ''] = /## REST API(.*?)## Limits/s.exec(reference) ?? [];
  const named = codesIn(table).flatMap((code) => /^(?:[A-Z]+ )?(\/[^?#…]+)$/.exec(code.split('?')[0] ?? '')?.[1] ?? []);
  const others = ['/graphql', '/docs', '/schema.graphql', '/openapi.json', '/console'];
  expect([...new Set(named)].filter((path) => !others.includes(path)).sort()).toEqual(
    Object.keys(paths)
      .filter((path) => !others.includes(path))
      .sort(),
  );
});

test('the reference gives no operation a status that it does not have', () => {
  const { paths } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
  const rows = [...reference.matchAll(/^\| (`[A-Z, `]+ \/.*?) \| (.*?) \|$/gm)];
  const wrong = rows.flatMap(([, endpoints, answers = '']) =>
    codesIn(endpoints).flatMap((endpoint) => {
      const [, method = '', path = ''] = /^([A-Z]+) (\/[^?]*)/.exec(endpoint) ?? [];
      const { responses } = paths[path]?.[method.toLowerCase()] ?? {};
      const statuses = answers.match(/(?<![\w,])[245]\d\d(?![\w,]\d)\b/g) ?? [];
      return responses
        ? statuses.filter((status) => !(status in responses)).map((status) => `${endpoint} ${status}`)
        : [];
    }),
  );
  expect(rows.length).toBeGreaterThan(30);
  expect(wrong).toEqual([]);
});

/** The project's documents with their paths. */
const documents = ['*.md', 'docs/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

test('every command in a document exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const named = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name]) => ({ path, name: name ?? '' })),
  );
  expect(named).not.toEqual([]);
  expect(named.filter(({ name }) => !(name in scripts))).toEqual([]);
});

test('every file in a document exists', () => {
  const folders = 'src|test|bench|docs|deploy|core|graphql|rest|http|database|jobs|entities|manufacturers|commands';
  const path = new RegExp(`\`((?:node |npx node )?((?:${folders})/[\\w./-]+\\.\\w+))`, 'g');
  const named = documents.flatMap((document) =>
    [...document.text.matchAll(path)].map(([, , name = '']) => ({ document: document.path, name })),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ name }) => ![name, `src/${name}`].some((one) => existsSync(join(root, one))))).toEqual([]);

  const names = new Set(
    ['src/**/*.ts', 'bench/**/*.ts'].flatMap((pattern) => globSync(pattern, { cwd: root })).map((one) => basename(one)),
  );
  const alone = documents.flatMap((document) =>
    [...document.text.matchAll(/`([\w-]+\.ts)`/g)].map(([, name = '']) => ({ document: document.path, name })),
  );
  expect(alone.filter(({ name }) => !names.has(name))).toEqual([]);
});

test('every name that a document places in a file is in that file', () => {
  const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'], { cwd: root });
  const said = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/`(\w+)` in `([\w/.-]+\.ts)`/g)].map(([, name = '', file = '']) => ({ path, name, file })),
  );
  expect(said.length).toBeGreaterThan(8);
  const isThere = ({ name, file }: (typeof said)[number]) =>
    files.some(
      (one) =>
        `/${one}`.endsWith(`/${file}`) && new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, one), 'utf8')),
    );
  expect(said.filter((one) => !isThere(one))).toEqual([]);
});

const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const filesOf = (...patterns: string[]) =>
  globSync(patterns, { cwd: root, exclude: (path) => path.endsWith('node_modules') });

/** Names of others, which documents and comments may say. */
const others: Readonly<Record<string, readonly string[]>> = {
  PostgreSQL: [
    ...['archive_mode', 'cpu_tuple_cost'],
    ...['max_slot_wal_keep_size', 'max_wal_senders', 'pg_amcheck', 'pg_dump', 'pg_snapshot_xmin', 'replay_lag'],
  ],
  pg: ['maxLifetimeSeconds', 'query_timeout'],
  PgBouncer: ['pool_mode'],
  'JavaScript, Biome and Microsoft': ['hasOwnProperty', 'noControlCharactersInRegex', 'TypeScript'],
  'MikroORM and Kysely': ['InferKyselyDB', 'jsonArrayFrom'],
  HAProxy: ['url_enc'],
  OpenTelemetry: [
    ...['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'],
    ...['parentbased_always_on', 'parentbased_traceidratio'],
  ],
  'Mercedes-Benz': ['assignVehicle', 'changeVehicleServiceStatus', 'queryVehicles'],
  'Microsoft Entra': ['requestedAccessTokenVersion', 'accessTokenAcceptedVersion'],
  'Amazon Cognito': ['scopesToAdd'],
  'High Mobility': ['ClearanceUnauthorizedErrors', 'FleetVehicle', 'FleetVin'],
};
const ofOthers = Object.values(others).flat();

const COMMENT = /\/\*[\s\S]*?\*\/|(?<![:'"`\\])\/\/.*$/gm;
const commentsOf = (path: string) =>
  [...textOf(path).matchAll(COMMENT)].map(([comment]) => comment.replaceAll(/\n\s*\*/g, ' '));

const wordsOf = (text: string): readonly string[] => text.match(/[A-Za-z_]\w*/g) ?? [];
const codeWords = (...patterns: string[]) =>
  new Set(
    filesOf(...patterns)
      .filter((path) => path !== 'test/unit/docs.test.ts')
      .flatMap((path) => wordsOf(textOf(path).replaceAll(COMMENT, ''))),
  );
const ofService = codeWords('src/**/*.{ts,js}');
const known = codeWords('{src,test,bench,examples}/**/*.{ts,js,sql}', 'deploy/**/*.yaml', 'schema.graphql');

/** camelCase, PascalCase, snake_case, CAPITALS_LIKE_THIS. */
const looksLikeCode = (word: string) =>
  /^(?:[a-z]\w*?[a-z\d](?:[A-Z]|_[a-z\d])\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]+(?:_[A-Z]+)+)$/.test(word);
/** Comments, decisions and the architecture speak of the service's functions; metrics have its name before their own. */
const isKnown = ({ path, word }: { path: string; word: string }) =>
  /^src|architecture|decisions/.test(path) && /^[a-z]+[A-Z]/.test(word)
    ? ofService.has(word)
    : known.has(word.replace(/^fleet_gateway_/, ''));

/** The identifiers that each document and each file's comments say. */
const said = [
  ...documents.map(({ path, text }) => {
    // The changelog says what there was.
    const now = path === 'CHANGELOG.md' ? '' : text;
    const inline = [...now.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)];
    // On pages for engineers, a word alone is an identifier, too.
    const alone = /architecture|decisions/.test(path) ? /^[a-z]+$/i : /^$/;
    const words = inline.flatMap(([, one = '']) => (alone.test(one) ? one : wordsOf(one).filter(looksLikeCode)));
    return { path, words };
  }),
  ...filesOf('src/**/*.{ts,js}').map((path) => {
    return { path, words: commentsOf(path).flatMap((comment) => wordsOf(comment).filter(looksLikeCode)) };
  }),
].flatMap(({ path, words }) => words.map((word) => ({ path, word })));

test('every identifier in a document or a comment occurs in the code', () => {
  expect(said.length).toBeGreaterThan(1000);
  expect(said.filter((one) => !isKnown(one) && !ofOthers.includes(one.word))).toEqual([]);
});

test('every name of others is said, and is not ours', () => {
  const needed = new Set(said.filter((one) => !isKnown(one)).map(({ word }) => word));
  expect(ofOthers.filter((word) => !needed.has(word))).toEqual([]);
});

test('every file in a comment exists, and has what the comment finds in it', () => {
  const files = filesOf('{src,test,bench}/**/*.{ts,js}', '{*,docs/**/*}.md');
  // Released migrations are never edited.
  const places = filesOf('src/!(migrations)/**/*.{ts,js}', 'src/*.{ts,js}').flatMap((path) =>
    commentsOf(path).flatMap((comment) =>
      [...comment.matchAll(/(?:`?(\w+)`? in )?`?([\w-]+(?:\/[\w-]+)*(?:\.test)?\.(?:ts|js|md))\b/g)].map(
        ([, word, file = '']) => ({ path, word, file }),
      ),
    ),
  );
  expect(places.length).toBeGreaterThan(30);
  const isThere = ({ word, file }: (typeof places)[number]) =>
    files.some(
      (one) => `/${one}`.endsWith(`/${file}`) && (!word || file.endsWith('.md') || wordsOf(textOf(one)).includes(word)),
    );
  expect(places.filter((one) => !isThere(one))).toEqual([]);
});

/** Anchors of a document's headings, as GitHub makes them. */
const anchorsOf = (text: string) =>
  [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every decision is listed', () => {
  const list = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8');
  const listed = [...list.matchAll(/\[[^\]]+\]\(([\w-]+\.md)\)/g)].map(([, name]) => name);
  const files = globSync('*.md', { cwd: join(root, 'docs/decisions') }).filter((name) => name !== 'README.md');
  expect(listed.sort()).toEqual(files.sort());
  expect(files).not.toEqual([]);
});

test('every decision has a date, a question, a decision, rejected options and costs, on a page', () => {
  const order =
    /^# .+\n\nDate: \d{4}-\d\d-\d\d.*\*\*Question\..*\*\*Decision\..*\*\*(Not|Also not) chosen\..*\*\*Costs\./s;
  const pages = documents.filter(({ path }) => /decisions\/(?!README)/.test(path));
  expect(pages.filter(({ text }) => !order.test(text)).map(({ path }) => path)).toEqual([]);
  expect(pages.filter(({ text }) => text.split('\n').length > 60).map(({ path }) => path)).toEqual([]);
});

test('every slow test begins with its subject, and those of each change exist', () => {
  const files = globSync('test/slow/*.test.ts', { cwd: root });
  const silent = files.filter((file) => !/^\/\/ .+\.\n/.test(readFileSync(join(root, file), 'utf8')));
  expect(silent).toEqual([]);
  const config = readFileSync(join(root, 'vitest.config.ts'), 'utf8');
  const atEachChange = [...config.matchAll(/'(slow\/[\w-]+)'/g)].map(([, name]) => `test/${name}.test.ts`);
  expect(atEachChange.filter((file) => !files.includes(file))).toEqual([]);
  expect(atEachChange).not.toEqual([]);
  expect(packageJson.scripts['test:all']).toMatch(/ --project change-postgresql --project change-embedded /);
  expect(readFileSync(join(root, '.ci/run'), 'utf8')).toMatch(/^npm run test:all$/m);
});

test('every test that docs/reliability.md names exists', () => {
  const text = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
  const named = [...text.matchAll(/^\|.*$/gm)]
    .flatMap(([row]) => codesIn(row))
    .filter((code) => /^(?:slow\/|unit\/)?[a-z]+(?:-[a-z]+)*$/.test(code));
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !existsSync(join(root, `test/${name}.test.ts`)))).toEqual([]);
});

test('every link between documents leads somewhere', () => {
  const links = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, to = '', anchor]) => ({
      path,
      to: to ? join(dirname(path), to) : path,
      anchor,
    })),
  );
  const leadsNowhere = ({ to, anchor }: (typeof links)[number]) =>
    !existsSync(join(root, to)) ||
    (anchor !== undefined && !anchorsOf(readFileSync(join(root, to), 'utf8')).includes(anchor));
  expect(links.length).toBeGreaterThan(30);
  expect(links.filter(leadsNowhere)).toEqual([]);
});
