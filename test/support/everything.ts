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
 * Asks for every field of Query that needs no id, and every field below it: a document for each field of an object that a root
 * gives, since one document has a bounded number of lists. The fields are read from the schema, so a new field is included
 * without a change here.
 */
export async function everythingOf(client: Client): Promise<Json> {
  const query = schema.getQueryType() as GraphQLObjectType;
  const roots = Object.values(query.getFields()).filter(needsNothing);
  const answers: Json[] = [];
  // One after the other: a busy machine answers each.
  for (const document of roots.flatMap(documentsOf)) {
    const { body } = await client.post('/graphql', { query: document });
    expect(body.errors).toBeUndefined();
    answers.push(body.data);
  }
  return answers;
}

function documentsOf(root: GraphQLField<unknown, unknown>): string[] {
  const type = getNamedType(root.type);
  const item =
    type.name.endsWith('Connection') && isObjectType(type) ? getNamedType(type.getFields().nodes?.type) : type;
  const parts = isObjectType(item) ? Object.values(item.getFields()).filter(needsNothing) : [];
  const objects = parts.filter((part) => isObjectType(getNamedType(part.type))).map(({ name }) => name);
  return (objects.length > 0 ? objects : [undefined]).map((only) => `{ ${selectionOf(root, LEVELS, only)} }`);
}

const needsNothing = ({ args }: GraphQLField<unknown, unknown>) =>
  args.every(({ type }) => !String(type).endsWith('!'));

const fieldsOf = (type: GraphQLObjectType) =>
  `{ ${Object.values(type.getFields())
    .map((field) => selectionOf(field, 0))
    .join(' ')} }`;

/** `only`: of fields with objects, this one alone is asked of the first objects that are no page. */
function selectionOf(field: GraphQLField<unknown, unknown>, levels: number, only?: string): string {
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
    .filter((part) => isPage || !only || part.name === only || !isObjectType(getNamedType(part.type)))
    .map((part) => selectionOf(part, isPage ? levels : levels - 1, isPage ? only : undefined));
  const page = field.args.some(({ name }) => name === 'first') ? '(first: 4)' : '';
  return inner.length > 0 ? `${field.name}${page} { ${inner.join(' ')} }` : '';
}
