import { GraphQLObjectType, getNamedType } from 'graphql';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { nodes, queries } from '../../src/core/reads/reads.ts';
import type { Field, Fields, ListField, Resource } from '../../src/core/sql/resource.ts';
import { isValue, type JsonTable, type ValueSql } from '../../src/core/sql/selection.ts';
import { schema } from '../../src/graphql/schema/schema.ts';

type Made = Field | ValueSql | JsonTable;
const isField = (made: Made): made is Field => 'kind' in made && typeof made.kind === 'string';
const isOf = (made: Made): made is Extract<Field, { of(): Resource }> => isField(made) && 'of' in made;

const itemOf = (connection: GraphQLObjectType) =>
  getNamedType(connection.getFields().nodes?.type) as unknown as GraphQLObjectType;

/** Every resource that can be reached, and every list. */
function reached() {
  const resources = new Set<Resource>();
  const lists = new Set<ListField>();
  const look = (fields: Fields = {}) => {
    for (const field of Object.values(fields)) {
      if (field.kind === 'list') lists.add(field);
      if (!isOf(field) || resources.has(field.of())) continue;
      resources.add(field.of());
      look(field.of().fields);
    }
  };
  look(queries);
  for (const one of Object.values(nodes)) resources.add(one);
  return { resources: [...resources], lists: [...lists] };
}
const { resources, lists } = reached();
const aliasOf = (name: string) => name.split(/[ .]/).at(name.includes(' ') ? -1 : 0) ?? '';

test('every field of an object that is read is described', () => {
  const seen = new Set<string>();
  const missing: string[] = [];
  const look = (type: GraphQLObjectType, owner: { members: JsonTable; fields?: Fields | undefined }) => {
    if (seen.has(type.name)) return;
    seen.add(type.name);
    for (const field of Object.values(type.getFields())) {
      const made: Made | undefined = owner.fields?.[field.name] ?? owner.members[field.name];
      const below = getNamedType(field.type);
      if (!made) missing.push(`${type.name}.${field.name}`);
      else if (below instanceof GraphQLObjectType) follow(made, below);
    }
  };
  const follow = (made: Made, type: GraphQLObjectType) => {
    if (!isField(made)) {
      if (!isValue(made)) look(type, { members: made });
    } else if (made.kind === 'list') look(itemOf(type), made.of());
    else if (made.kind === 'one') look(type, made.of());
    else if ('members' in made) look(type, made);
  };
  const roots = Object.values(schema.getQueryType()?.getFields() ?? {});
  // These have resolvers of their own.
  const others = roots.filter(({ name }) => !(name in queries)).map(({ name }) => name);
  expect(others.toSorted()).toEqual(['company', 'node', 'nodes', 'providers', 'search']);
  for (const { name, type } of roots) if (queries[name]) follow(queries[name], getNamedType(type) as GraphQLObjectType);
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
  const unknown = lists.flatMap(({ of, kept, indexed = [] }) =>
    [...Object.keys(kept?.conditions ?? {}), ...indexed].filter((name) => !(name in of().conditions)),
  );
  expect(unknown).toEqual([]);
});

test('what stands beside a resource is called like no other one, which may stand around it', () => {
  const own = new Set(resources.map(({ id }) => aliasOf(id)));
  const beside = resources.flatMap(({ joins = {} }) => Object.keys(joins));
  expect(beside.filter((alias) => own.has(alias))).toEqual([]);
  for (const { table, id } of resources) expect(aliasOf(table)).toBe(aliasOf(id));
});
