import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type GraphQLField,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedDirective,
  specifiedScalarTypes,
} from 'graphql';
import { expect, test } from 'vitest';
import { settings } from '../../src/config.ts';
import { statusOf } from '../../src/core/errors.ts';
import { scopeOfField } from '../../src/graphql/schema/graphql-context.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';
import { openApiDocument } from '../../src/rest/openapi/openapi-document.ts';
import { routes } from '../../src/rest/router.ts';
import type { Json } from '../support/client.ts';

interface Described {
  place: string;
  description: string | null | undefined;
}

/** Openings that only make sense beside the name of what is described. */
const LEANING = new RegExp(
  `^(?:${['Only', 'What', 'How', 'Whether', 'When', 'Where', 'Why', 'Who', 'Whose', 'Which', 'It', 'Its', 'They', 'Their'].join('|')}|` +
    `${['Them', 'Such', 'These', 'This', 'That', 'Those', 'If', 'By', 'Of', 'With', 'In', 'As', 'Also'].join('|')})\\b`,
);

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const nameOf = (place: string) =>
  place
    .split('.')
    .at(-1)
    ?.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ') ?? '';

/** The fault of a description's form; null for a noun phrase or a sentence that stands alone. */
function faultOf({ place, description }: Described): string | null {
  const text = description?.trim();
  if (!text) return 'has none';
  const words = wordsOf(text);
  const own = words.filter((word) => !['a', 'an', 'the'].includes(word));
  if (LEANING.test(text)) return `does not stand alone: ${text}`;
  if (!/^[\p{Lu}`]/u.test(text)) return `begins small: ${text}`;
  if (!/\.(?:\n+(?: {4}|`).+)?$/s.test(text)) return `does not end with a full stop: ${text}`;
  if (words.length < 3) return `is too short: ${text}`;
  if (own.join(' ') === wordsOf(nameOf(place)).join(' ')) return `only repeats the name: ${text}`;
  return null;
}

const faultsOf = (all: readonly Described[]) =>
  all.flatMap((one) => {
    const fault = faultOf(one);
    return fault === null ? [] : `${one.place} ${fault}`;
  });

test.each([
  ['The number of vehicles in the fleet.', null],
  ['Adds vehicles to a fleet by their VINs.\n\n    addVehicles(input: { … }) { summary { created } }', null],
  ['', 'has none'],
  ['How many vehicles it has.', 'does not stand alone'],
  ['Only vehicles with this VIN.', 'does not stand alone'],
  ['the number of vehicles.', 'begins small'],
  ['The number of vehicles', 'does not end with a full stop'],
  ['In numbers.', 'does not stand alone'],
  ['The VIN.', 'is too short'],
  ['The vehicle count.', 'only repeats the name'],
])('the form of "%s"', (description, fault) => {
  expect(faultOf({ place: 'Fleet.vehicleCount', description })?.replace(/:.*/s, '') ?? null).toBe(fault);
});

test('every type, field, argument, enum value and directive of GraphQL has a description that stands alone', () => {
  const types = Object.values(graphqlSchema.getTypeMap()).filter(
    ({ name }) => !name.startsWith('__') && !specifiedScalarTypes.some((scalar) => scalar.name === name),
  );
  const directives = graphqlSchema.getDirectives().filter((one) => !isSpecifiedDirective(one));
  const all = [...types.flatMap(partsOf), ...inside('@', directives)];
  expect(all.length).toBeGreaterThan(700);
  expect(faultsOf(all)).toEqual([]);
});

test('descriptions of GraphQL name enum values as GraphQL has them', () => {
  const enums = Object.values(graphqlSchema.getTypeMap()).filter(isEnumType);
  const others = enums.flatMap((of) => of.getValues().flatMap(({ name, value }) => (value === name ? [] : value)));
  expect(others).toEqual(expect.arrayContaining(['import.completed', 'atomic']));
  const found = Object.values(graphqlSchema.getTypeMap())
    .flatMap(partsOf)
    .filter(({ description }) =>
      others.some((value) => description?.includes(value.includes('.') ? value : `\`${value}\``)),
    );
  expect(found).toEqual([]);
});

const inside = (of: string, parts: readonly { name: string; description?: string | null }[]): Described[] =>
  parts.map(({ name, description }) => ({ place: `${of}.${name}`, description }));

/** A type with all its parts. */
function partsOf(type: GraphQLNamedType): Described[] {
  const parts = [{ place: type.name, description: type.description }];
  if (isEnumType(type)) return [...parts, ...inside(type.name, type.getValues())];
  if (isInputObjectType(type)) return [...parts, ...inside(type.name, Object.values(type.getFields()))];
  if (!isObjectType(type) && !isInterfaceType(type)) return parts;
  const fields = Object.values(type.getFields());
  const args = fields.flatMap((field) => inside(`${type.name}.${field.name}`, field.args));
  return [...parts, ...inside(type.name, fields), ...args];
}

/** Operations of REST that take one where the mutation takes a list, whose unknown ids are no error. */
const ofOne = new Map([
  ['refreshActivation', 'refreshActivation'],
  ['verifyEligibility', 'refreshEligibility'],
]);

test('every query, mutation and subscription names its scope, and every mutation its errors', () => {
  const faults: string[] = [];
  for (const operation of ['query', 'mutation', 'subscription'] as never[]) {
    const fields: GraphQLField<unknown, unknown>[] = Object.values(
      graphqlSchema.getRootType(operation)?.getFields() ?? {},
    );
    for (const field of fields) {
      const { name, description = '' } = field;
      const [, scope, list = ''] =
        / Scope: `([\w:]+)`(?: or `[\w:]+`)?\.(?: Errors: (.*)\.)?$/.exec(description ?? '') ?? [];
      if (scope !== (scopeOfField(field, operation) ?? 'fleets:read')) faults.push(`${name} has another scope`);
      const errors = list.split(', ').map((code) => code.replaceAll('`', ''));
      if (list && !errors.every((code) => code in statusOf)) faults.push(`${name} names an unknown error`);
      if (operation !== 'mutation') continue;
      const { errors: known = [] } = routes.find(({ operationId }) => operationId === name && !ofOne.has(name)) ?? {};
      const missing = known.filter((code) => !errors.includes(code));
      if (!list || missing.length > 0) faults.push(`${name} does not name its errors ${missing}`);
    }
  }
  expect(faults).toEqual([]);
});

/** The words alone: GraphQL's also name an example, the scope and the errors. */
const ownWordsOf = (description = '') => description.replace(/ (?:Example of variables: `.*`\. )?Scope: .*$/s, '');

test('an operation of both interfaces has the same words and scope; REST may add what concerns it alone', () => {
  const mutations = Object.values(graphqlSchema.getMutationType()?.getFields() ?? {});
  const both = mutations.flatMap((mutation) => {
    const route = routes.find(({ operationId }) => operationId === (ofOne.get(mutation.name) ?? mutation.name));
    return route ? [{ mutation, route }] : [];
  });
  expect(both.length).toBeGreaterThan(20);
  const differ = both.filter(
    ({ mutation, route }) =>
      !route.description.startsWith(ownWordsOf(mutation.description ?? '')) ||
      route.scope !== scopeOfField(mutation, 'mutation' as never),
  );
  expect(differ.map(({ mutation }) => mutation.name)).toEqual([]);
});

test('every operation, parameter, property, response, header and tag of REST has a description that stands alone', () => {
  const { info, servers, tags, paths, components }: Json = openApiDocument();
  const entries = (of: string, all: Json): [string, Json][] =>
    Object.entries<Json>(all ?? {}).map(([name, one]) => [`${of}.${name}`, one]);
  const described = ([place, { description }]: [string, Json]) => ({ place, description });
  const operations = entries('', paths).flatMap(([path, methods]) => entries(path, methods));
  const responses = operations.flatMap(([place, one]) => entries(`${place}.responses`, one.responses));
  const bodies = operations.flatMap(([place, { requestBody }]) => (requestBody ? [[place, requestBody] as const] : []));
  const schemas = entries('', components.schemas);
  const parameters = operations.flatMap(([place, one]) =>
    (one.parameters ?? []).map((parameter: Json) => [`${place}.${parameter.name}`, parameter]),
  );
  const contents = [...bodies, ...responses, ...entries('responses', components.responses)].flatMap(
    ([place, { content }]) => entries(place, content).map(([at, { schema }]) => [at, schema] as const),
  );
  const all = [
    ...[{ place: 'info', ...info }, { place: 'server', ...servers[0] }, ...inside('tags', tags)],
    ...[...operations, ...entries('', components.parameters), ...entries('', components.headers), ...schemas].map(
      described,
    ),
    ...[...responses, ...parameters].filter(([, one]) => !one.$ref).map(described),
    ...[...entries('', components.responses), ...entries('', components.securitySchemes)].map(described),
    ...[...schemas, ...contents].flatMap(([place, schema]) => propertiesOf(place, schema, components.schemas)),
  ];
  expect(all.length).toBeGreaterThan(500);
  expect([...new Set(faultsOf(all))]).toEqual([]);
});

/** The properties in a schema, at any depth; one that is a reference may leave its description to its target. */
function propertiesOf(place: string, schema: Json, named: Json): Described[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const properties = Object.entries<Json>(schema.properties ?? {});
  const parts = ['items', 'additionalProperties'].map((key) => schema[key]);
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => schema[key] ?? []);
  const meaningOf = ({ description, $ref = '' }: Json) => description ?? named[$ref.split('/').at(-1)]?.description;
  return [
    ...properties.map(([name, one]) => ({ place: `${place}.${name}`, description: meaningOf(one) })),
    ...properties.flatMap(([name, one]) => propertiesOf(`${place}.${name}`, one, named)),
    ...[...parts, ...choices].flatMap((one) => propertiesOf(place, one, named)),
  ];
}

test('every setting has a description that stands alone', () => {
  const reference = readFileSync(join(import.meta.dirname, '../../docs/reference.md'), 'utf8');
  const [, table = ''] = /<!-- settings -->\n((?:\|.*\n)+)/.exec(reference) ?? [];
  const rows = table.trim().split('\n').slice(2);
  const all = rows.flatMap((row) => {
    const [, names = '', , description = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ place: name, description }));
  });
  expect(all.map(({ place }) => place).toSorted()).toEqual(Object.keys(settings.shape).toSorted());
  expect(faultsOf(all)).toEqual([]);
});
