import { COUNTED_MOST, PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page-size.ts';
import type { Needs } from '../execution/context.ts';
import type { Cost } from '../execution/cost.ts';
import { type Planned, read } from '../execution/reads.ts';
import { builder } from './builder.ts';

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
export function connectionType<Item>(name: string, node: ReturnType<typeof builder.objectRef<Item>>) {
  const edge = builder.objectRef<Planned>(`${name}Edge`);
  builder.objectType(edge, {
    description: 'An item and its place in the list.',
    fields: (t) => ({
      cursor: t.string({
        description: 'The place in the list: stays right when items are added or deleted around it.',
        resolve: read,
      }),
      node: t.field({ type: node, description: 'The item itself.', resolve: read }),
    }),
  });
  const connection = builder.objectRef<Planned>(`${name}Connection`);
  builder.objectType(connection, {
    description: 'A page of a list.',
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        extensions: { size: 'page' } satisfies Cost,
        description: 'The items of this page, each with its cursor.',
        resolve: read,
      }),
      nodes: t.field({
        type: [node],
        extensions: { size: 'page' } satisfies Cost,
        description: 'The items of this page, for those who need no cursors.',
        resolve: read,
      }),
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
  return connection;
}

/** Adds the query for one item by its id. */
export function addById<Item>(
  name: string,
  type: ReturnType<typeof builder.objectRef<Item>>,
  description: string,
  extensions: Partial<Needs> = {},
): void {
  builder.queryField(name, (t) =>
    t.field({
      type,
      nullable: true,
      description,
      extensions: { ...extensions },
      args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
      resolve: read,
    }),
  );
}
