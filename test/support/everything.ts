import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isObjectType,
  isScalarType,
  isUnionType,
} from 'graphql';
import { expect } from 'vitest';
import type { Client, Json } from './client.ts';
import { schema } from './operation.ts';

/** Levels of objects that everythingOf follows from a root field; deeper levels add no new types. */
const LEVELS = 3;

/**
 * Asks for every field of Query that needs no id, and every field below it. The fields are read from the schema, so a
 * new field is included without a change here.
 */
export async function everythingOf(client: Client): Promise<Json> {
  const query = schema.getQueryType() as GraphQLObjectType;
  const roots = Object.values(query.getFields()).filter(needsNothing);
  return Promise.all(
    roots.map(async (root) => {
      const { body } = await client.post('/graphql', { query: `{ ${selectionOf(root, LEVELS)} }` });
      expect(body.errors).toBeUndefined();
      return body.data;
    }),
  );
}

const needsNothing = ({ args }: GraphQLField<unknown, unknown>) =>
  args.every(({ type }) => !String(type).endsWith('!'));

const fieldsOf = (type: GraphQLObjectType) =>
  `{ ${Object.values(type.getFields())
    .map((field) => selectionOf(field, 0))
    .join(' ')} }`;

/** A type that stands above is not followed again: as a root field it is asked by itself. */
function selectionOf(field: GraphQLField<unknown, unknown>, levels: number, above: readonly string[] = []): string {
  const type = getNamedType(field.type);
  if (isUnionType(type)) {
    const types = type.getTypes().map((one) => `... on ${one.name} ${fieldsOf(one)}`);
    return `${field.name} { __typename ${types.join(' ')} }`;
  }
  if (isScalarType(type) || isEnumType(type) || !isObjectType(type)) return field.name;
  const parts = Object.values(type.getFields()).filter(needsNothing);
  const isPage = type.name.endsWith('Connection');
  const inner = parts
    // `edges` has the same items as `nodes`.
    .filter(({ name }) => !(isPage && name === 'edges'))
    .filter((part) => levels > 0 || !isObjectType(getNamedType(part.type)))
    .filter((part) => !above.includes(getNamedType(part.type).name))
    .map((part) => selectionOf(part, isPage ? levels : levels - 1, [...above, type.name]));
  const page = field.args.some(({ name }) => name === 'first') ? '(first: 4)' : '';
  return inner.length > 0 ? `${field.name}${page} { ${inner.join(' ')} }` : '';
}
