import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ASTNode, buildASTSchema, findBreakingChanges, findDangerousChanges, parse, visit } from 'graphql';
import { expect, onTestFinished, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { openApiText, printedSchema } from '../../src/commands/print.ts';
import type { Json } from '../support/client.ts';

const root = join(import.meta.dirname, '../..');
const released = (name: string) => readFile(join(root, 'test/released', name), 'utf8');

const isDeprecated = (node: ASTNode) =>
  'directives' in node && (node.directives ?? []).some(({ name }) => name.value === 'deprecated');
const withoutIfDeprecated = (node: ASTNode) => (isDeprecated(node) ? null : undefined);

/** The released schema without deprecated parts, which may be removed. */
const promised = (text: string) =>
  buildASTSchema(
    visit(parse(text), {
      FieldDefinition: withoutIfDeprecated,
      InputValueDefinition: withoutIfDeprecated,
      EnumValueDefinition: withoutIfDeprecated,
    }),
  );

const schemaFindings = (before: string, after: string) =>
  findBreakingChanges(promised(before), buildASTSchema(parse(after))).map(({ type, description }) => [
    type,
    description,
  ]);

/** Breaking changes of the coming version, by reason: CHANGELOG.md says what callers must do. */
const broken: Record<string, string> = {};

test('the schema is compatible with the last release', async () => {
  const before = await released('schema.graphql');
  for (const { description } of findDangerousChanges(promised(before), buildASTSchema(parse(printedSchema())))) {
    console.log(`Old clients may notice: ${description}`);
  }
  const found = schemaFindings(before, printedSchema()).map(([, description = '']) => description);
  expect(found.toSorted()).toEqual(Object.keys(broken).toSorted());
});

test.each([
  ['FIELD_REMOVED', '  vat: String!', '  tax: String!'],
  ['FIELD_CHANGED_KIND', '  vat: String!', '  vat: Int!'],
  ['VALUE_REMOVED_FROM_ENUM', '  UNSUPPORTED', '  UNKNOWN'],
  ['REQUIRED_INPUT_FIELD_ADDED', 'input CreateFleetInput {', 'input CreateFleetInput { colour: String!'],
])('%s is found in a schema', async (type, from, to) => {
  const before = await released('schema.graphql');
  expect(before).toContain(from);
  expect(schemaFindings(before, before.replace(from, to)).map(([kind]) => kind)).toContain(type);
});

test('a field that the last release deprecates may be removed from the schema', async () => {
  const after = await released('schema.graphql');
  const before = after.replace('type Fleet implements Node {', '$& colour: String @deprecated(reason: "No use.")');
  expect(before).toContain('@deprecated(reason: "No use.")');
  expect(schemaFindings(before, after)).toEqual([]);
});

/** Whether a part of an OpenAPI document is deprecated, or a path has only deprecated operations. */
function mayGo(part: Json): boolean {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return false;
  const members = Object.values<Json>(part);
  return part.deprecated === true || (members.length > 0 && members.every((one) => one?.deprecated === true));
}

/** A part of an OpenAPI document without deprecated members, which may be removed. */
function withoutDeprecated(part: Json): Json {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.filter((one) => !mayGo(one)).map(withoutDeprecated);
  const kept = Object.entries<Json>(part).filter(([, value]) => !mayGo(value));
  const copy = Object.fromEntries(kept.map(([key, value]) => [key, withoutDeprecated(value)]));
  if (!copy.properties || !copy.required) return copy;
  return { ...copy, required: copy.required.filter((name: string) => name in copy.properties) };
}

/** Redocly rules for breaking changes between the documents. New codes in a response are no breaking change. */
async function documentFindings(before: Json, after: Json): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-gateway-released-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const report = join(folder, 'report.json');
  const files = { before: withoutDeprecated(before), after };
  for (const [name, document] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.json`), JSON.stringify(document));
  }
  const options = ['--skip-rule=enum-values-added', '--fail-on=none', '--format=json', `--output=${report}`];
  await promisify(execFile)(
    join(root, 'node_modules/.bin/redocly'),
    ['diff', join(folder, 'before.json'), join(folder, 'after.json'), ...options],
    { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  );
  const { changes }: Json = JSON.parse(await readFile(report, 'utf8'));
  const verdicts: Json[] = changes.flatMap((change: Json) => change.verdicts);
  return verdicts.filter(({ impact }) => impact === 'major').map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

const releasedDocument = async (): Promise<Json> => JSON.parse(await released('openapi.json'));

/** What clients must bear although it is no addition, by reason. */
const widened: Record<string, string> = {
  'schema-combinator-changed: `anyOf` was added.': '`pack` of GET /contracts takes several, and one as before',
};

test('the OpenAPI document is compatible with the last release', async () => {
  const findings = await documentFindings(await releasedDocument(), JSON.parse(openApiText()));
  expect(findings.filter((finding) => !(finding in widened))).toEqual([]);
  expect(findings).toEqual(expect.arrayContaining(Object.keys(widened)));
});

test('breaking changes of an OpenAPI document are found', async () => {
  const after = await releasedDocument();
  const { paths, components } = after;
  delete paths['/search'];
  delete paths['/fleets'].get;
  delete paths['/contracts'].post.responses[201];
  delete components.schemas.Fleet.properties.vat;
  components.schemas.Fleet.properties.email.type = 'integer';
  const wanted = paths['/fleets'].post.requestBody.content['application/json'].schema;
  wanted.properties.colour = { type: 'string' };
  wanted.required.push('colour');
  paths['/vehicles'].get.parameters.push({ name: 'colour', in: 'query', required: true, schema: { type: 'string' } });
  const rules = (await documentFindings(await releasedDocument(), after)).map((finding) => finding.split(':')[0]);
  expect([...new Set(rules)].toSorted()).toEqual([
    'operation-removed',
    'parameter-became-required',
    'path-removed',
    'property-removed',
    'required-properties-added',
    'response-removed',
    'schema-type-changed',
  ]);
});

test('deprecated parts may be removed from the OpenAPI document', async () => {
  const [before, after] = [await releasedDocument(), await releasedDocument()];
  before.paths['/search'].get.deprecated = true;
  before.components.schemas.Fleet.properties.vat.deprecated = true;
  delete after.paths['/search'];
  const { Fleet } = after.components.schemas;
  delete Fleet.properties.vat;
  Fleet.required = Fleet.required.filter((name: string) => name !== 'vat');
  expect(await documentFindings(before, after)).toEqual([]);
});

test('no released migration is changed or removed', async () => {
  const lines = (await released('migrations.sha256')).trim().split('\n');
  const sums = await Promise.all(
    lines.map(async (line) => {
      const [, path = ''] = line.split('  ');
      const bytes = await readFile(join(root, path)).catch(() => '');
      return `${createHash('sha256').update(bytes).digest('hex')}  ${path}`;
    }),
  );
  expect(sums).toEqual(lines);
});

const compareVersions = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true });
const lastRelease = async (): Promise<string> => (await releasedDocument()).info.version;

/** New migrations that do not say that the last release works with their tables: its running processes would be unready at once. */
const refusedNames = (files: readonly string[], last: string) =>
  files.filter((file) => {
    const since = /^Migration\d{14}_since_(\d+_\d+_\d+)\.ts$/.exec(file)?.[1];
    return !since || compareVersions(since.replaceAll('_', '.'), last) > 0;
  });

test('the name of a new migration says that the last release works with its tables', async () => {
  const files = await readdir(join(root, 'src/migrations'));
  const lines = await released('migrations.sha256');
  const unreleased = files.filter((file) => file.startsWith('Migration') && !lines.includes(file));
  expect(refusedNames(unreleased, await lastRelease())).toEqual([]);
});

test.each(['_since_0_3_0', '_since_0_2_1', '_since_0_10_0', '', '_since_0_2'])(
  'a new migration %s is refused after release 0.2.0, whatever the coming version',
  (end) => {
    const names = [`Migration20261201000000${end}.ts`, 'Migration20261201000000_since_0_2_0.ts'];
    expect(refusedNames(names, '0.2.0')).toEqual([names[0]]);
  },
);

test('what is not released has the version of a coming release, with -dev', async () => {
  const text = await readFile(join(root, 'CHANGELOG.md'), 'utf8');
  const [unreleased = '', released = ''] = text.split(/^## /m).slice(1);
  const last = await lastRelease();
  expect(unreleased).toMatch(/^\[Unreleased\]\n/);
  expect(released).toMatch(new RegExp(`^\\[${RegExp.escape(last)}\\] - \\d{4}-\\d{2}-\\d{2}\\n`));
  const { version } = packageJson;
  // The commit of the release.
  if (version === last && unreleased.trim() === '[Unreleased]') return;
  expect(version).toMatch(/^\d+\.\d+\.\d+-dev$/);
  expect(compareVersions(version.replace('-dev', ''), last)).toBeGreaterThan(0);
});
