import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { readInput, readTime } from '../input.ts';

/** A column that an index has next to the company (and the fleet), with the id after it unless it is unique. */
export interface SortColumn {
  column: string;
  kind: 'text' | 'time';
  /** What has no time stands after all that have one. */
  nullable?: true;
  /** A company has each value once. */
  unique?: true;
}

/** What a list can be sorted by, as it is called in GraphQL; without a column by the ids, which is the order of creation. */
export type Orders = Readonly<Record<string, { meaning: string; by?: SortColumn }>>;

export const directions = ['ASC', 'DESC'] as const;

/** How a list is sorted. */
export interface Order {
  /** `VIN` or `-VIN`: what cursors of it begin with. */
  name: string;
  descending: boolean;
  by: SortColumn | null;
}

export const BY_CREATION: Order = { name: 'CREATED_AT', descending: false, by: null };

/** Making a schema costs many times what reading by it does. */
const schemas = new WeakMap<Orders, ReturnType<typeof schemaOf>>();

const schemaOf = (orders: Orders) =>
  z.object({
    orderBy: z.object({
      field: z.enum(Object.keys(orders)).default(BY_CREATION.name),
      direction: z.enum(directions).default('ASC'),
    }),
  });

/** Reads what `orderBy` is given as; throws ValidationFailed. */
export function readOrder(orderBy: unknown, orders: Orders): Order {
  const schema = schemas.get(orders) ?? schemaOf(orders);
  schemas.set(orders, schema);
  const { field, direction } = readInput(schema, { orderBy }).orderBy;
  const descending = direction === 'DESC';
  return { name: `${descending ? '-' : ''}${field}`, descending, by: orders[field]?.by ?? null };
}

/** `verifiedAt` for `VERIFIED_AT`. */
export const sortName = (field: string): string =>
  field.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** What REST's `sort` may be, `verifiedAt` or `-verifiedAt`, with what GraphQL's `orderBy` has in its place. */
export const sortsOf = (orders: Orders): Readonly<Record<string, { field: string; direction: string }>> =>
  Object.fromEntries(
    Object.keys(orders).flatMap((field) => [
      [sortName(field), { field, direction: 'ASC' }],
      [`-${sortName(field)}`, { field, direction: 'DESC' }],
    ]),
  );

interface Kind {
  /** As its index has it. */
  place(column: string, nullable?: true): string;
  /** The text that cursors have of a value; null for none. */
  text(column: string): string;
  bound(text: string | null): RawBuilder<unknown>;
  isText(text: string): boolean;
}

/** 255 characters, each of which may be two of JavaScript's. */
const MOST_TEXT = 510;

const kinds: Readonly<Record<SortColumn['kind'], Kind>> = {
  // By code points, which is the same order on every server.
  text: {
    place: (column) => `${column} collate "C"`,
    text: (column) => column,
    bound: (text) => sql`${text}::text`,
    isText: (text) => text.length <= MOST_TEXT && !text.includes('\0'),
  },
  // To the microsecond, whatever the session's style of dates.
  time: {
    place: (column, nullable) => (nullable ? `coalesce(${column}, 'infinity'::timestamptz)` : column),
    text: (column) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    bound: (text) => sql`${text ?? 'infinity'}::timestamptz`,
    isText: (text) => /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/.test(text) && readTime(text) !== null,
  },
};

/** What a row called `alias` is sorted by, as the index has it. */
export const sortSql = ({ column, kind, nullable }: SortColumn, alias: string): RawBuilder<unknown> =>
  sql.raw(kinds[kind].place(`${alias}.${column}`, nullable));

/** Whether a cursor may have this text of a value. */
export const isSortText = ({ kind, nullable }: SortColumn, text: string | null): boolean =>
  text === null ? nullable === true : kinds[kind].isText(text);

/** The text that cursors have of the value in a row called `alias`; null where the id alone is the place. */
export const sortTextSql = ({ by }: Order, alias: string): RawBuilder<unknown> | null =>
  by && sql.raw(kinds[by.kind].text(`${alias}.${by.column}`));

/** The columns that make a row's place, in their order, each with what gives its value in a place. */
function columnsOf({ by }: Order, alias: string) {
  const id = { column: sql.raw(`${alias}.id`), bound: (place: Place) => sql`${place.id}::uuid` };
  if (!by) return [id];
  const own = { column: sortSql(by, alias), bound: ({ text }: Place) => kinds[by.kind].bound(text) };
  return by.unique ? [own] : [own, id];
}

/** Where in a list a row stands. */
export interface Place {
  id: string;
  /** Of the value by which the list is sorted, to the last digit; null where there is none, or where that is the id. */
  text: string | null;
}

/** A comparison of a row's place with another one, as the list goes: `>` is what comes after. */
export function comparedSql(order: Order, alias: string, operator: '<' | '>', orEqual: boolean, place: Place) {
  const columns = columnsOf(order, alias);
  const turned = order.descending ? { '<': '>', '>': '<' }[operator] : operator;
  const [own, other] = [columns.map(({ column }) => column), columns.map(({ bound }) => bound(place))];
  return sql`(${sql.join(own)}) ${sql.raw(`${turned}${orEqual ? '=' : ''}`)} (${sql.join(other)})`;
}

/** What follows `order by`. */
export function orderSql(order: Order, alias: string, backward: boolean): RawBuilder<unknown> {
  const direction = order.descending === backward ? sql`` : sql` desc`;
  return sql.join(columnsOf(order, alias).map(({ column }) => sql`${column}${direction}`));
}
