import type { InputFieldMap, InputRef } from '@pothos/core';
import { BY_CREATION, directions, type Orders } from '../../core/sql/order.ts';
import { COUNTED_MOST, PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page.ts';
import type { Needs } from '../execution/context.ts';
import type { Cost } from '../execution/cost.ts';
import { type Planned, read } from '../execution/reads.ts';
import { builder, type ObjectRef } from './builder.ts';

const MOST = COUNTED_MOST.toLocaleString('en');

/** The arguments of every connection; core's readPage reads them. */
export const pageArgs = builder.args((t) => ({
  first: t.int({
    description: `How many items from the start (or after \`after\`): 1 to ${PAGE_MAX}, by default ${PAGE_DEFAULT}.`,
  }),
  after: t.string({
    description:
      'Only items that come after this cursor. Only events can be followed so: in other lists what is added meanwhile may ' +
      'stand before a cursor.',
  }),
  last: t.int({
    description: `How many items from the end (or before \`before\`): 1 to ${PAGE_MAX}. Not together with \`first\`.`,
  }),
  before: t.string({ description: 'Only items that come before this cursor.' }),
}));

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'Which end of an order comes first.',
  values: {
    ASC: { value: directions[0], description: 'The smallest, or the oldest.' },
    DESC: { value: directions[1], description: 'The largest, or the latest.' },
  },
});

/** The type of `orderBy` for a list of these orders: `VehicleOrder` of `VehicleOrderField`. */
export function orderOf(name: string, orders: Orders, what: string) {
  const field = builder.enumType(`${name}Field`, {
    description: `What a list of ${what} can be sorted by.`,
    values: Object.fromEntries(Object.entries(orders).map(([key, { meaning }]) => [key, { description: meaning }])),
  });
  return builder.inputType(name, {
    description: `How a list of ${what} is sorted: what is equal stands in the order of creation. A cursor is good in its own order alone.`,
    fields: (t) => ({
      field: t.field({ type: field, required: true, defaultValue: BY_CREATION.name, description: 'By what.' }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'In which direction.',
      }),
    }),
  });
}

/** The arguments of a list: its page, its filter, and where there are several, its order. */
export const listArgs = (what: string, filter: InputRef, orderBy?: InputRef): InputFieldMap =>
  builder.args((t) => ({
    ...pageArgs,
    filter: t.field({ type: filter, description: `Only ${what} that fit all of this.` }),
    ...(orderBy && {
      orderBy: t.field({ type: orderBy, description: 'How the list is sorted; by default, the oldest first.' }),
    }),
  }));

const PageInfo = builder.objectRef<Planned>('PageInfo').implement({
  description: 'Where a page stands in its list.',
  fields: (t) => ({
    hasNextPage: t.boolean({ description: 'Whether there are items after this page.', resolve: read }),
    hasPreviousPage: t.boolean({ description: 'Whether there are items before this page.', resolve: read }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first item; null on an empty page.',
      resolve: read,
    }),
    endCursor: t.string({
      nullable: true,
      description: 'The cursor of the last item, for `after`; null on an empty page.',
      resolve: read,
    }),
  }),
});

/** Makes the types `<name>Connection` and `<name>Edge` of the Relay cursor specification; gives the former. */
export function connectionType<Item>(name: string, node: ObjectRef<Item>): ObjectRef<Planned> {
  const items = { extensions: { size: 'page' } satisfies Cost, resolve: read };
  const edge = builder.objectRef<Planned>(`${name}Edge`).implement({
    description: 'An item and its place in the list.',
    fields: (t) => ({
      cursor: t.string({
        description: 'The place in the list: stays right when items are added or deleted around it.',
        resolve: read,
      }),
      node: t.field({ type: node, description: 'The item itself.', resolve: read }),
    }),
  });
  return builder.objectRef<Planned>(`${name}Connection`).implement({
    description: 'A page of a list.',
    fields: (t) => ({
      edges: t.field({ type: [edge], description: 'The items of this page, each with its cursor.', ...items }),
      nodes: t.field({ type: [node], description: 'The items of this page, for those who need no cursors.', ...items }),
      pageInfo: t.field({ type: PageInfo, description: 'Whether there is more, and where to go on.', resolve: read }),
      totalCount: t.int({
        description: `How many items the whole list has, under the same filter. Counted only when asked for, up to ${MOST}, which stands for all
that are more. Vehicles are counted to the last one without a filter, and by \`eligibility\` and fleets.`,
        resolve: read,
      }),
      totalCountIsExact: t.boolean({
        description: `Whether \`totalCount\` is all of them; false where there are more than were counted.`,
        resolve: read,
      }),
    }),
  });
}

/** Adds a list to the queries, or to the objects of a type. */
export function addList<Parent>(
  name: string,
  type: ObjectRef<Planned>,
  description: string,
  { of, args = pageArgs, ...options }: { of?: ObjectRef<Parent>; args?: InputFieldMap; extensions?: Needs } = {},
): void {
  const field = { type, description, args, ...options, resolve: read };
  if (of) builder.objectField(of, name, (t) => t.field(field));
  else builder.queryField(name, (t) => t.field(field));
}

/** Adds the query for one item by its id. */
export function addById<Item>(
  name: string,
  type: ObjectRef<Item>,
  description: string,
  options: { extensions?: Needs } = {},
): void {
  const args = builder.args((t) => ({ id: t.id({ required: true, description: 'Its id.' }) }));
  builder.queryField(name, (t) => t.field({ type, nullable: true, description, args, ...options, resolve: read }));
}
