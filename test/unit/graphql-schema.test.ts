import { readFileSync } from 'node:fs';
import {
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isNonNullType,
  isObjectType,
  isScalarType,
  specifiedScalarTypes,
} from 'graphql';
import { expect, test } from 'vitest';
import { printedSchema, schemaFile } from '../../src/commands/print.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

const own = Object.values(graphqlSchema.getTypeMap()).filter(
  ({ name }) => !name.startsWith('__') && !specifiedScalarTypes.some((scalar) => scalar.name === name),
);

test('schema.graphql matches the code; `npm run schema` writes it', () => {
  expect(readFileSync(schemaFile, 'utf8')).toBe(printedSchema());
});

test('every type, field, argument and enum value has a description', () => {
  expect(
    own
      .flatMap(partsOf)
      .filter(({ description }) => !description)
      .map(({ place }) => place),
  ).toEqual([]);
});

test('every scalar names its specification', () => {
  const scalars = own.filter(isScalarType).map(({ name, specifiedByURL }) => [name, specifiedByURL?.slice(0, 8)]);
  expect(scalars.toSorted()).toEqual(['DateTime', 'JSON', 'Upload'].map((name) => [name, 'https://']));
});

test('every id is non-null', () => {
  const nullable = own.filter(
    (type) => isObjectType(type) && type.getFields().id && !isNonNullType(type.getFields().id?.type),
  );
  expect(nullable).toEqual([]);
});

test('every mutation has its own input and its own nullable payload', () => {
  for (const [name, field] of Object.entries(graphqlSchema.getMutationType()?.getFields() ?? {})) {
    const stem = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    expect([field.args.map((arg) => `${arg.name}: ${arg.type}`), `${field.type}`]).toEqual([
      [`input: ${stem}Input!`],
      `${stem}Payload`,
    ]);
  }
});

/** A type with all its parts. */
function partsOf(type: GraphQLNamedType): { place: string; description: string | null | undefined }[] {
  const inside = (place: string, parts: readonly { name: string; description?: string | null }[]) =>
    parts.map(({ name, description }) => ({ place: `${place}.${name}`, description }));
  const parts = [{ place: type.name, description: type.description }];
  if (isEnumType(type)) return [...parts, ...inside(type.name, type.getValues())];
  if (isInputObjectType(type)) return [...parts, ...inside(type.name, Object.values(type.getFields()))];
  if (!isObjectType(type) && !isInterfaceType(type)) return parts;
  const fields = Object.values(type.getFields());
  return [
    ...parts,
    ...inside(type.name, fields),
    ...fields.flatMap((field) => inside(`${type.name}.${field.name}`, field.args)),
  ];
}

test('every type with an id is a Node, and no other: caches keep objects by their ids', () => {
  const withId = own.filter((type) => isObjectType(type) && type.getFields().id).map(({ name }) => name);
  const nodes = graphqlSchema.getPossibleTypes(graphqlSchema.getType('Node') as GraphQLInterfaceType);
  expect(withId.toSorted()).toEqual(nodes.map(({ name }) => name).toSorted());
});
