import type { Context } from '../../core/context.ts';
import { cursorOf, hasNext, hasPrevious, type Page, placeOf, type ReadPage, type Slice } from '../../core/sql/page.ts';
import { PAGE_DEFAULT, PAGE_MAX } from '../../core/sql/page-size.ts';
import type { Cost } from '../execution/cost.ts';
import type { Needs } from '../execution/scopes.ts';
import type { InSql } from '../execution/sql-plan.ts';
import { builder } from './builder.ts';

/** A page of a list, and how to look beyond it and to count the whole list if anybody asks. */
export interface Connection<Item> {
  page: Page;
  slice: Slice<Item>;
  read: ReadPage<Item>;
  count(): Promise<number>;
}

/** Reads a page of a list; the list's other facts can be asked of what it gives. */
export async function connect<Item>(
  page: Page,
  read: ReadPage<Item>,
  count: () => Promise<number>,
): Promise<Connection<Item>> {
  return { page, slice: await read(page), read, count };
}

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

const PageInfo = builder.objectRef<Connection<{ id: string }>>('PageInfo').implement({
  description: 'Where a page stands in its list.',
  fields: (t) => ({
    hasNextPage: t.boolean({
      description: 'Whether there are items after this page.',
      resolve: ({ page, slice, read }) => hasNext(page, slice, read),
    }),
    hasPreviousPage: t.boolean({
      description: 'Whether there are items before this page.',
      resolve: ({ page, slice, read }) => hasPrevious(page, slice, read),
    }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first item; null on an empty page.',
      resolve: ({ page, slice }) => cursorAt(page, slice, 0),
    }),
    endCursor: t.string({
      nullable: true,
      description: 'The cursor of the last item, for `after`; null on an empty page.',
      resolve: ({ page, slice }) => cursorAt(page, slice, -1),
    }),
  }),
});

function cursorAt({ order }: Page, slice: Slice<{ id: string }>, at: number): string | null {
  const place = placeOf(slice, at);
  return place && cursorOf(place, order);
}

/** An item at its place of a page. */
interface Edge<Item> {
  node: Item;
  connection: Connection<Item>;
  at: number;
}

/** Makes the types `<name>Connection` and `<name>Edge` of the Relay cursor specification; gives the former. */
export function connectionType<Item extends { id: string }>(
  name: string,
  node: ReturnType<typeof builder.objectRef<Item>>,
) {
  const edge = builder.objectRef<Edge<Item>>(`${name}Edge`);
  builder.objectType(edge, {
    description: `A ${name} and its place in the list.`,
    fields: (t) => ({
      cursor: t.string({
        description: 'The place in the list: stays right when items are added or deleted around it.',
        resolve: ({ connection: { page, slice }, at }) => cursorAt(page, slice, at) ?? '',
      }),
      node: t.field({ type: node, description: 'The item itself.', resolve: (self) => self.node as never }),
    }),
  });
  const connection = builder.objectRef<Connection<Item>>(`${name}Connection`);
  builder.objectType(connection, {
    description: `A page of a list of ${name} objects.`,
    fields: (t) => ({
      edges: t.field({
        type: [edge],
        extensions: { size: 'page' } satisfies Cost,
        description: 'The items of this page, each with its cursor.',
        resolve: (connection) => connection.slice.items.map((node, at) => ({ node, connection, at })),
      }),
      nodes: t.field({
        type: [node],
        extensions: { size: 'page' } satisfies Cost,
        description: 'The items of this page, for those who need no cursors.',
        resolve: ({ slice }) => slice.items as never,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'Whether there is more, and where to go on.',
        resolve: (self) => self,
      }),
      totalCount: t.int({
        description: 'How many items the whole list has, under the same filter. Counted only when asked for.',
        resolve: ({ count }) => count(),
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
  read: (ctx: Context, input: { id: string }) => Promise<Item>,
  extensions: InSql & Partial<Needs> = {},
): void {
  builder.queryField(name, (t) =>
    t.field({
      type,
      nullable: true,
      description,
      extensions: { ...extensions },
      args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
      resolve: (_root, args, { ctx }) => read(ctx, args) as never,
    }),
  );
}
