import { z } from 'zod';
import { type DomainError, ValidationFailed } from '../errors.ts';
import { readInput, readTime } from '../input.ts';
import { inUtcSql } from './selection.ts';

/**
 * A column that an index has next to the company (and the fleet), with the id after it unless it is unique; a number may be
 * behind in some rows (`behind` of the resource).
 */
export interface SortColumn {
  column: string;
  kind: 'text' | 'time' | 'number';
  /** Rows without a time come after all others. */
  nullable?: true;
  unique?: true;
}

/** The orders of a list by their GraphQL names. Without a column it is sorted by id, in the order of creation. */
export type SortOrders = Readonly<Record<string, { meaning: string; by?: SortColumn }>>;

export const sortDirections = ['ASC', 'DESC'] as const;

export interface SortOrder {
  /** `VIN` or `-VIN`: the beginning of its cursors. */
  name: string;
  descending: boolean;
  by: SortColumn | null;
}

export const CREATION_ORDER: SortOrder = { name: 'CREATED_AT', descending: false, by: null };

const orderInput = z.object({
  orderBy: z.object({
    field: z.string().default(CREATION_ORDER.name),
    direction: z.enum(sortDirections).default('ASC'),
  }),
});

/** Reads `orderBy`; throws ValidationFailed. */
export function readSortOrder(orderBy: unknown, orders: SortOrders): SortOrder {
  const { field, direction } = readInput(orderInput, { orderBy }).orderBy;
  if (!Object.hasOwn(orders, field)) {
    const message = `must be one of ${Object.keys(orders).join(', ')}, not "${field}"`;
    throw new ValidationFailed([{ path: 'orderBy.field', code: 'INVALID_VALUE', message }]);
  }
  const descending = direction === 'DESC';
  return { name: `${descending ? '-' : ''}${field}`, descending, by: orders[field]?.by ?? null };
}

/** `verifiedAt` for `VERIFIED_AT`. */
export const restSortName = (field: string): string =>
  field.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The values of REST's `sort`, such as `-verifiedAt`, each with its `orderBy` of GraphQL. */
export const restSortsOf = (orders: SortOrders): Readonly<Record<string, { field: string; direction: string }>> =>
  Object.fromEntries(
    Object.keys(orders).flatMap((field) => [
      [restSortName(field), { field, direction: 'ASC' }],
      [`-${restSortName(field)}`, { field, direction: 'DESC' }],
    ]),
  );

/** 255 characters, each of which may be two of JavaScript's. */
const MOST_TEXT = 510;

/** The column as its index has it, the text of a cursor, and that text as SQL. */
const kinds = {
  // Text is sorted by code points: the order is the same on every server.
  text: {
    place: (column: string, _nullable?: true) => `${column} collate "C"`,
    text: (column: string) => column,
    bound: (text: string) => `${text}::text`,
    isText: (text: string) => text.length <= MOST_TEXT && !text.includes('\0'),
  },
  // To the microsecond, whatever the session's style of dates.
  time: {
    place: (column: string, nullable?: true) => (nullable ? `coalesce(${column}, 'infinity'::timestamptz)` : column),
    text: (column: string) => `to_char(${inUtcSql(column)}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    bound: (text: string) => `coalesce(${text}, 'infinity')::timestamptz`,
    isText: (text: string) => /^(?!0000)\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/.test(text) && readTime(text) !== null,
  },
  number: {
    place: (column: string, _nullable?: true) => column,
    text: (column: string) => `(${column})::text`,
    bound: (text: string) => `${text}::bigint`,
    isText: (text: string) => /^(0|[1-9]\d{0,17})$/.test(text),
  },
};

export const isCursorText = ({ kind, nullable }: SortColumn, text: string | null): boolean =>
  text === null ? nullable === true : kinds[kind].isText(text);

export interface ListPosition {
  id: string;
  /** The exact value by which the list is sorted; null if the row has none, or the id is that value. */
  text: string | null;
}

/** The only order of a list: its columns, of which the last is unique. */
export interface FixedSortOrder {
  columns: readonly string[];
  descending?: boolean;
  /** SQL for the columns of the row with this id, where a page begins. */
  placeOf(id: string): readonly string[];
  /** No index has the order: rows are found, then sorted. */
  unindexed?: true;
  /** The error for the id of a deleted row; without it, no rows come before or after such a position. */
  lost?(path: string): DomainError;
}

/** The error for a cursor whose row is deleted, where the position is in the row. */
export const lostCursor =
  (message: string) =>
  (path: string): DomainError =>
    new ValidationFailed([{ path, code: 'INVALID_CURSOR', message }]);

export interface SortSql extends Pick<FixedSortOrder, 'columns' | 'lost' | 'unindexed'> {
  descending: boolean;
  /** Some rows have another number than the index. */
  mayBeBehind?: true;
  /** Ends of a part of the index that has all rows. */
  part?: readonly RangeEnd[];
  /** The columns of the position with these parameters as its id and text. */
  placeOf(id: string, text: string): readonly string[];
  /** The cursor's text of the value in a row; null where the id alone is the position. */
  text: string | null;
  cursor(id: string, text: string): string;
}

export function sortSqlOf({ name, by, descending }: SortOrder, id: string, fixed?: FixedSortOrder): SortSql {
  const cursor = (of: string, text: string) =>
    cursorSql(of, name === CREATION_ORDER.name ? null : sortedSql(name, by, text));
  if (fixed) return { descending: false, ...fixed, text: null, cursor };
  if (!by) {
    return { columns: [id], descending, placeOf: (place) => [`${place}::uuid`], text: null, cursor };
  }
  const kind = kinds[by.kind];
  const column = `${id.slice(0, id.indexOf('.'))}.${by.column}`;
  const own = kind.place(column, by.nullable);
  return {
    columns: by.unique ? [own] : [own, id],
    descending,
    placeOf: (place, text) => (by.unique ? [kind.bound(text)] : [kind.bound(text), `${place}::uuid`]),
    text: kind.text(column),
    cursor,
    ...(by.kind === 'number' && { mayBeBehind: true }),
  };
}

/** The same order, of which no index can tell that it has it: rows are found by their conditions, then sorted. */
export const unindexed = (sort: SortSql): SortSql => ({
  ...sort,
  columns: sort.columns.map((column) => `greatest(${column})`),
  unindexed: true,
});

function sortedSql(name: string, by: SortColumn | null, text: string): string {
  if (!by) return `'${name}'`;
  const whole = `'${name}=' || ${text}`;
  return by.nullable ? `coalesce(${whole}, '${name}')` : whole;
}

/** SQL for the cursor that page.ts's cursorOf writes. PostgreSQL breaks long base64 into lines, hence chr(10). */
function cursorSql(id: string, sorted: string | null): string {
  const bytes = sorted === null ? `uuid_send(${id})` : `uuid_send(${id}) || convert_to(${sorted}, 'UTF8')`;
  return `translate(rtrim(encode(${bytes}, 'base64'), '='), '+/' || chr(10), '-_')`;
}

type Comparison = '<' | '>' | '<=' | '>=';
export type RangeEnd = { operator: Comparison; place: readonly string[] };

/** The columns in which all rows of a list are equal, with SQL for their values: company and parent. */
export type EqualColumns = readonly (readonly [column: string, value: string])[];

type IndexOrder = Pick<SortSql, 'columns' | 'descending' | 'unindexed' | 'part'>;

const equalitiesSql = (columns: EqualColumns) => columns.map((one) => compareSql('=', [one]));

/** Of indexes that seem equally good, the comparison, which is always true, is dearer where it is no index's condition. */
export const prefixSql = (prefix: EqualColumns) => [
  ...(prefix.length > 1 ? [compareSql('>=', prefix.toReversed())] : []),
  ...equalitiesSql(prefix),
];

const rowOf = (columns: readonly string[]) => (columns.length === 1 ? columns[0] : `(${columns.join(', ')})`);
const compareSql = (operator: string, columns: EqualColumns) =>
  `${rowOf(columns.map(([column]) => column))} ${operator} ${rowOf(columns.map(([, value]) => value))}`;

/** The bounds in the direction of the index. */
const turned = ({ descending }: IndexOrder, bounds: readonly RangeEnd[]): readonly RangeEnd[] =>
  bounds.map(({ operator, place }) => ({
    operator: descending ? (operator.replace(/[<>]/, (one) => (one === '<' ? '>' : '<')) as Comparison) : operator,
    place,
  }));

const endsSql = ({ columns }: IndexOrder, before: EqualColumns, ends: readonly RangeEnd[]) =>
  ends.map(({ operator, place }) =>
    compareSql(operator, [...before, ...place.map((value, at) => [columns[at] ?? '', value] as const)]),
  );

/** Conditions for rows that come after (`>`) or before such positions, in the list's order. */
export const boundsSql = (sort: IndexOrder, bounds: readonly RangeEnd[]) => endsSql(sort, [], turned(sort, bounds));

/**
 * The rows of a list that are read from this position on: their conditions, and the columns that their order has before
 * the sorted ones. Where an index has the order after the prefix's columns, the rows are one range of it. Its form leaves
 * the planner no other index, and every version reads no further than to the range's end (docs/decisions/one-statement.md).
 */
export function rangeSql(sort: IndexOrder, prefix: EqualColumns, from: readonly RangeEnd[], backward: boolean) {
  const { descending, unindexed, part = [] } = sort;
  const ends = [...turned(sort, from), ...part];
  const open = (['<', '>'] as const).filter((sign) => !ends.some(({ operator }) => operator.startsWith(sign)));
  // To a bound of the filter: company = 'acme' and fleet_id = '…' and verified_at >= '2026-01-01' and verified_at <= '2026-02-01'
  if (unindexed || !open.includes(descending === backward ? '<' : '>'))
    return { conditions: [...prefixSql(prefix), ...endsSql(sort, [], ends)], before: [] };
  // To the last row of the fleet: company = 'acme' and (fleet_id, verified_at, id) > ('…', '2026-01-01', '…') and fleet_id <= '…'
  const parent = prefix.slice(-1);
  const sides = open.map((sign) => compareSql(`${sign}=`, parent));
  return {
    conditions: [...equalitiesSql(prefix.slice(0, -1)), ...endsSql(sort, parent, ends), ...sides],
    before: parent.map(([column]) => column),
  };
}

/** The `order by` clause for these columns, of which the list's direction is that of all. */
export const orderBySql = ({ descending }: IndexOrder, columns: readonly string[], backward: boolean) =>
  columns.map((column) => column + (descending === backward ? '' : ' desc')).join(', ');
