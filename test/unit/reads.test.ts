import { GraphQLObjectType, getNamedType } from 'graphql';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { nodeResources, rootQueryFields } from '../../src/core/reads/root-fields.ts';
import type { ListField, Resource, ResourceField, ResourceFields } from '../../src/core/sql/resource.ts';
import { isValueSql, type JsonMembers, type ValueSql } from '../../src/core/sql/selection.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

type Description = ResourceField | ValueSql | JsonMembers;
const isField = (part: Description): part is ResourceField => 'kind' in part && typeof part.kind === 'string';
const isOf = (part: Description): part is Extract<ResourceField, { of(): Resource }> => isField(part) && 'of' in part;

const itemOf = (connection: GraphQLObjectType) =>
  getNamedType(connection.getFields().nodes?.type) as unknown as GraphQLObjectType;

/** All resources and lists that queries reach. */
function reached() {
  const resources = new Set<Resource>();
  const lists = new Set<ListField>();
  const look = (fields: ResourceFields = {}) => {
    for (const field of Object.values(fields)) {
      if (field.kind === 'list') lists.add(field);
      if (!isOf(field) || resources.has(field.of())) continue;
      resources.add(field.of());
      look(field.of().fields);
    }
  };
  look(rootQueryFields);
  for (const one of Object.values(nodeResources)) resources.add(one);
  return { resources: [...resources], lists: [...lists] };
}
const { resources, lists } = reached();
const aliasOf = (name: string) => name.split(/[ .]/).at(name.includes(' ') ? -1 : 0) ?? '';

test('every field of a read object has a description', () => {
  const seen = new Set<string>();
  const missing: string[] = [];
  const look = (type: GraphQLObjectType, owner: { members: JsonMembers; fields?: ResourceFields | undefined }) => {
    if (seen.has(type.name)) return;
    seen.add(type.name);
    for (const field of Object.values(type.getFields())) {
      const part: Description | undefined = owner.fields?.[field.name] ?? owner.members[field.name];
      const below = getNamedType(field.type);
      if (!part) missing.push(`${type.name}.${field.name}`);
      else if (below instanceof GraphQLObjectType) follow(part, below);
    }
  };
  const follow = (part: Description, type: GraphQLObjectType) => {
    if (!isField(part)) {
      if (!isValueSql(part)) look(type, { members: part });
    } else if (part.kind === 'list') look(itemOf(type), part.of());
    else if (part.kind === 'one') look(type, part.of());
    else if ('members' in part) look(type, part);
  };
  const roots = Object.values(graphqlSchema.getQueryType()?.getFields() ?? {});
  // These fields have their own resolvers.
  const others = roots.filter(({ name }) => !(name in rootQueryFields)).map(({ name }) => name);
  expect(others.toSorted()).toEqual(['company', 'node', 'nodes', 'packs', 'providers', 'search']);
  for (const { name, type } of roots)
    if (rootQueryFields[name]) follow(rootQueryFields[name], getNamedType(type) as GraphQLObjectType);
  expect(missing).toEqual([]);
  expect(seen.size).toBeGreaterThanOrEqual(12);
});

test('every member of a filter has a condition', () => {
  const missing = resources.flatMap(({ table, filter, conditions }) =>
    filter instanceof z.ZodObject
      ? Object.keys(filter.shape)
          .filter((name) => !(name in conditions))
          .map((name) => `${table}: ${name}`)
      : [],
  );
  expect(missing).toEqual([]);
  const unknown = lists.flatMap(({ of, storedCount, indexed = [] }) =>
    [...Object.keys(storedCount?.conditions ?? {}), ...indexed].filter((name) => !(name in of().conditions)),
  );
  expect(unknown).toEqual([]);
});

test('aliases of joins differ from those of resources, which may enclose them', () => {
  const own = new Set(resources.map(({ id }) => aliasOf(id)));
  const beside = resources.flatMap(({ joins = {} }) => Object.keys(joins));
  expect(beside.filter((alias) => own.has(alias))).toEqual([]);
  for (const { table, id } of resources) expect(aliasOf(table)).toBe(aliasOf(id));
});
