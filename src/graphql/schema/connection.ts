import type { InputFieldMap, InputRef } from '@pothos/core';
import { z } from 'zod';
import { CREATION_ORDER, type SortOrders, sortDirections } from '../../core/sql/order.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MOST_COUNTED_ROWS } from '../../core/sql/page.ts';
import { type ObjectRef, schemaBuilder } from './builder.ts';
import { objectTypeOf } from './described.ts';
import { type CostExtension, type OperationExtension, resolvePlannedField } from './graphql-context.ts';

const MOST = MOST_COUNTED_ROWS.toLocaleString('en');

export const pageArgs = schemaBuilder.args((t) => ({
  first: t.int({
    description: `The number of items from the start of the list, or from \`after\` on: 1 to ${MAX_PAGE_SIZE}, by default ${DEFAULT_PAGE_SIZE}.`,
  }),
  after: t.string({
    description:
      'The cursor of the item after which the page begins. Only events can be followed in this way: in other lists, items that are added ' +
      'meanwhile may come before it.',
  }),
  last: t.int({
    description: `The number of items from the end of the list, or from \`before\` back: 1 to ${MAX_PAGE_SIZE}. Not allowed together with \`first\`.`,
  }),
  before: t.string({ description: 'The cursor of the item before which the page ends.' }),
}));

const OrderDirection = schemaBuilder.enumType('OrderDirection', {
  description: 'The direction in which a list is sorted.',
  values: {
    ASC: { value: sortDirections[0], description: 'Ascending: the smallest or the oldest first.' },
    DESC: { value: sortDirections[1], description: 'Descending: the largest or the latest first.' },
  },
});

/** The type of `orderBy` for a list of these orders: `VehicleOrder` of `VehicleOrderField`. */
function orderOf(name: string, orders: SortOrders, what: string) {
  const field = schemaBuilder.enumType(`${name}Field`, {
    description: `The value that a list of ${what} is sorted by.`,
    values: Object.fromEntries(Object.entries(orders).map(([key, { meaning }]) => [key, { description: meaning }])),
  });
  return schemaBuilder.inputType(name, {
    description: `The order of a list of ${what}. Equal values are sorted by creation. A cursor is valid only in the order that it comes from.`,
    fields: (t) => ({
      field: t.field({
        type: field,
        required: true,
        defaultValue: CREATION_ORDER.name,
        description: 'The value by which the list is sorted, by default the time of creation.',
      }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'The direction in which the list is sorted, by default ascending.',
      }),
    }),
  });
}

/** The arguments of a list of these items: its page, its filter and its order. */
export function listArgs(name: string, filter: InputRef, orders?: SortOrders): InputFieldMap {
  const items = `${name.toLowerCase()}s`;
  const type = orders && orderOf(`${name}Order`, orders, items);
  const description = 'The order of the list, by default the oldest first.';
  return schemaBuilder.args((t) => ({
    ...pageArgs,
    filter: t.field({ type: filter, description: `Conditions that the ${items} of the list must all meet.` }),
    ...(type && { orderBy: t.field({ type, description }) }),
  }));
}

const pageInfo = z
  .object({
    hasNextPage: z.boolean().describe('True if there are items after this page.'),
    hasPreviousPage: z.boolean().describe('True if there are items before this page.'),
    startCursor: z.string().nullable().describe('The cursor of the first item, for `before`; null on an empty page.'),
    endCursor: z.string().nullable().describe('The cursor of the last item, for `after`; null on an empty page.'),
  })
  .describe('The place of a page in its list, with the cursors to read on.');
objectTypeOf('PageInfo', pageInfo);

/** Stands for the type of the items, which `connectionType` gets. */
const item = z.object({});

const edge = z.object({
  cursor: z
    .string()
    .describe('The cursor of the item, for `after` and `before`. It stays valid while items around it change.'),
  node: item.describe('The item of the list, which the cursor belongs to.'),
});

const connection = z.object({
  edges: z.array(item).describe('The items of this page, each with its cursor.'),
  nodes: z.array(item).describe('The items of this page, without cursors.'),
  pageInfo: pageInfo.describe('The place of this page in the list, with the cursors to read on.'),
  totalCount: z.int(),
  totalCountIsExact: z
    .boolean()
    .describe('True if `totalCount` is exact; false if the list has more items than were counted.'),
});

const COUNTED = `The number of items in the whole list, under the same filter. Counting stops at ${MOST}, which then stands for any larger number.`;

/** Makes the types `<name>Connection` and `<name>Edge` of the Relay cursor specification, for lists of `items`; gives the former. */
export function connectionType(name: string, node: object, items: string, counting = '') {
  const size = { extensions: { size: 'page' } satisfies CostExtension };
  const edgeType = objectTypeOf(
    `${name}Edge`,
    edge.describe(`An entry of a list of ${items}: the item with its cursor.`),
    { node: { type: node } },
  );
  return objectTypeOf(
    `${name}Connection`,
    connection.describe(`A page of a list of ${items} (Relay’s cursor connection).`),
    {
      edges: { type: [edgeType], ...size },
      nodes: { type: [node], ...size },
      totalCount: { description: `${COUNTED}${counting}` },
    },
  );
}

interface ReadFieldOptions<Parent> {
  of?: ObjectRef<Parent>;
  args?: InputFieldMap;
  nullable?: boolean;
  extensions?: OperationExtension & CostExtension;
}

/** Adds a field that plans read to the queries, or to the objects of a type. */
export function addReadField<Parent>(
  name: string,
  type: object,
  description: string,
  { of, ...options }: ReadFieldOptions<Parent>,
): void {
  const field = { type, description, ...options, resolve: resolvePlannedField } as never;
  if (of) schemaBuilder.objectField(of, name, (t) => t.field(field));
  else schemaBuilder.queryField(name, (t) => t.field(field));
}

export const addListField = <Parent>(
  name: string,
  type: ReturnType<typeof connectionType>,
  description: string,
  options: ReadFieldOptions<Parent> = {},
) => addReadField(name, type, description, { args: pageArgs, ...options });

export function addByIdField(name: string, type: object, description: string, extensions: OperationExtension): void {
  const args = schemaBuilder.args((t) => ({ id: t.id({ required: true, description: `The id of the ${name}.` }) }));
  addReadField(name, type, description, { args, nullable: true, extensions });
}
