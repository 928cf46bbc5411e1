import { isAbstractType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { embedded, possibleTypes } from '../../examples/schema-facts.ts';
import { graphqlSchema } from '../../src/graphql/schema/schema.ts';

const types = Object.values(graphqlSchema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const roots: unknown[] = [
  graphqlSchema.getQueryType(),
  graphqlSchema.getMutationType(),
  graphqlSchema.getSubscriptionType(),
];

test('the caches of the examples know every type without an id', () => {
  const withoutId = types.filter((type) => isObjectType(type) && !roots.includes(type) && !type.getFields().id);
  expect(embedded.toSorted()).toEqual(withoutId.map(({ name }) => name).toSorted());
});

test('the caches of the examples know every type of an interface or union', () => {
  const abstract = types.filter(isAbstractType).map((type) => [
    type.name,
    graphqlSchema
      .getPossibleTypes(type)
      .map(({ name }) => name)
      .toSorted(),
  ]);
  expect(possibleTypes).toEqual(Object.fromEntries(abstract));
});
