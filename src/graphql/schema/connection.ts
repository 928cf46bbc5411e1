import type { InputFieldMap, InputRef } from '@pothos/core';
import { z } from 'zod';
import { CREATION_ORDER, type SortOrders, sortDirections } from '../../core/sql/order.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, MOST_COUNTED_ROWS } from '../../core/sql/page.ts';
import { type ObjectRef, schemaBuilder } from './builder.ts';
import { objectTypeOf } from './described.ts';
import type { CostExtension, ScopeExtension } from './extensions.ts';
import { resolvePlannedField } from './planned.ts';

const MOST = MOST_COUNTED_ROWS.toLocaleString('en');

export const pageArgs = schemaBuilder.args((t) => ({
  first: t.int({
    description: `How many items from the start (or after \`after\`): 1 to ${MAX_PAGE_SIZE}, by default ${DEFAULT_PAGE_SIZE}.`,
  }),
  after: t.string({
    description:
      'Only items that come after this cursor. Only events can be followed so: in other lists what is added meanwhile may ' +
      'stand before a cursor.',
  }),
  last: t.int({
    description: `How many items from the end (or before \`before\`): 1 to ${MAX_PAGE_SIZE}. Not together with \`first\`.`,
  }),
  before: t.string({ description: 'Only items that come before this cursor.' }),
}));

const OrderDirection = schemaBuilder.enumType('OrderDirection', {
  description: 'Which end of an order comes first.',
  values: {
    ASC: { value: sortDirections[0], description: 'The smallest, or the oldest.' },
    DESC: { value: sortDirections[1], description: 'The largest, or the latest.' },
  },
});

/** The type of `orderBy` for a list of these orders: `VehicleOrder` of `VehicleOrderField`. */
function orderOf(name: string, orders: SortOrders, what: string) {
  const field = schemaBuilder.enumType(`${name}Field`, {
    description: `What a list of ${what} can be sorted by.`,
    values: Object.fromEntries(Object.entries(orders).map(([key, { meaning }]) => [key, { description: meaning }])),
  });
  return schemaBuilder.inputType(name, {
    description: `How a list of ${what} is sorted: what is equal stands in the order of creation. A cursor is good in its own order alone.`,
    fields: (t) => ({
      field: t.field({ type: field, required: true, defaultValue: CREATION_ORDER.name, description: 'By what.' }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'In which direction.',
      }),
    }),
  });
}

/** The arguments of a list of these items: its page, its filter and its order. */
export function listArgs(name: string, filter: InputRef, orders?: SortOrders): InputFieldMap {
  const items = `${name.toLowerCase()}s`;
  const type = orders && orderOf(`${name}Order`, orders, items);
  const description = 'How the list is sorted; by default, the oldest first.';
  return schemaBuilder.args((t) => ({
    ...pageArgs,
    filter: t.field({ type: filter, description: `Only ${items} that fit all of this.` }),
    ...(type && { orderBy: t.field({ type, description }) }),
  }));
}

const pageInfo = z
  .object({
    hasNextPage: z.boolean().describe('Whether there are items after this page.'),
    hasPreviousPage: z.boolean().describe('Whether there are items before this page.'),
    startCursor: z.string().nullable().describe('The cursor of the first item; null on an empty page.'),
    endCursor: z.string().nullable().describe('The cursor of the last item, for `after`; null on an empty page.'),
  })
  .describe('Where a page stands in its list.');
objectTypeOf('PageInfo', pageInfo);

/** Stands for the type of the items, which `connectionType` gets. */
const item = z.object({});

const edge = z
  .object({
    cursor: z.string().describe('The place in the list: stays right when items are added or deleted around it.'),
    node: item.describe('The item itself.'),
  })
  .describe('An item and its place in the list.');

const connection = z
  .object({
    edges: z.array(item).describe('The items of this page, each with its cursor.'),
    nodes: z.array(item).describe('The items of this page, for those who need no cursors.'),
    pageInfo: pageInfo.describe('Whether there is more, and where to go on.'),
    totalCount: z.int(),
    totalCountIsExact: z
      .boolean()
      .describe('Whether `totalCount` is all of them; false where there are more than were counted.'),
  })
  .describe('A page of a list.');

const COUNTED = `How many items the whole list has, under the same filter. Counted only when asked for, up to ${MOST}, which stands for all that are more.`;

/** Makes the types `<name>Connection` and `<name>Edge` of the Relay cursor specification; gives the former. */
export function connectionType(name: string, node: object, counting = '') {
  const size = { extensions: { size: 'page' } satisfies CostExtension };
  const edgeType = objectTypeOf(`${name}Edge`, edge, { node: { type: node } });
  return objectTypeOf(`${name}Connection`, connection, {
    edges: { type: [edgeType], ...size },
    nodes: { type: [node], ...size },
    totalCount: { description: `${COUNTED}${counting}` },
  });
}

/** Adds a list to the queries, or to the objects of a type. */
export function addListField<Parent>(
  name: string,
  type: ReturnType<typeof connectionType>,
  description: string,
  options: { of?: ObjectRef<Parent>; args?: InputFieldMap; extensions?: ScopeExtension } = {},
): void {
  const { of, ...others } = options;
  const field = { type, description, args: pageArgs, ...others, resolve: resolvePlannedField };
  if (of) schemaBuilder.objectField(of, name, (t) => t.field(field));
  else schemaBuilder.queryField(name, (t) => t.field(field));
}

export function addByIdField<Item>(
  name: string,
  type: ObjectRef<Item>,
  description: string,
  options: { extensions?: ScopeExtension } = {},
): void {
  const args = schemaBuilder.args((t) => ({ id: t.id({ required: true, description: 'Its id.' }) }));
  const field = { type, nullable: true, description, args, ...options, resolve: resolvePlannedField } as const;
  schemaBuilder.queryField(name, (t) => t.field(field));
}
