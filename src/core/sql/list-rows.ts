import { type Context, hasScope } from '../context.ts';
import type { IndexFind, IndexSeek } from './list-description.ts';
import {
  FOUND_OF_EACH,
  FOUND_OR_IN_ORDER,
  fill,
  IN_ORDER,
  IS_LOOKED_UP,
  LOOKED_UP_OR_ALL,
  LOOKUPS,
  MOST_FOUND,
  STORED_OR_BEHIND,
  VALUES,
} from './list-statements.ts';
import {
  boundsSql,
  type EqualColumns,
  orderBySql,
  prefixSql,
  type RangeEnd,
  rangeSql,
  type SortOrder,
  type SortSql,
  sortSqlOf,
  unindexed,
} from './order.ts';
import {
  conditionsSql,
  fromClause,
  type ListField,
  mentionedJoins,
  type ParentColumn,
  type Resource,
} from './resource.ts';

interface RowsSpec extends Pick<ListField, 'under' | 'on' | 'short'> {
  /** The names of the conditions on the rows; by default statements call their values so. */
  names: readonly string[];
  param?(name: string): string;
  /** The caller's scopes hide some rows. */
  hidden: boolean;
  /** All rows meet the resource's `where`. */
  within?: boolean;
}

/** The rows of the company that a request or field reads, as the SQL of a statement names them. */
export function rowSelectionOf(of: Resource, spec: RowsSpec) {
  const { names, param = (name) => `$${name}`, under, on, hidden, within } = spec;
  const { leading = {}, where, lacking } = of;
  const leader = under ? '' : (names.find((name) => name in leading) ?? '');
  const column = leading[leader];
  const parent: ParentColumn | undefined = column === undefined ? under : [column, `${param(leader)}::uuid`];
  const owner = [`${aliasOf(of)}.company`, '$company'] as const;
  const prefix: EqualColumns = parent ? [owner, parent] : [owner];
  const others = [within ? undefined : where, on, hidden ? lacking?.where : undefined];
  const conditions = others.filter((one) => one !== undefined);
  return { of, prefix, conditions, names: names.filter((name) => name !== leader), param };
}

/** `conditions` are those beside the prefix and the filter, `names` the filter's that are not in the prefix. */
type RowSelection = ReturnType<typeof rowSelectionOf>;

/** Rows as a list in this order; `short`: all are read and sorted. */
export function listSelectionOf(of: Resource, order: SortOrder, spec: RowsSpec): ListSelection {
  const sort = sortSqlOf(order, of.id, of.order);
  const isSorted = sort.unindexed || (spec.short && spec.under);
  return { ...rowSelectionOf(of, spec), sort: isSorted ? unindexed(sort) : sort };
}

export type ListSelection = RowSelection & { sort: SortSql };

export const hidesRows = (ctx: Context, { lacking }: Resource): boolean =>
  lacking !== undefined && !hasScope(ctx, lacking.scope);

const aliasOf = ({ id }: Resource): string => id.slice(0, id.indexOf('.'));
const allOf = (conditions: readonly string[]) => conditions.join(' and ') || 'true';

/** The conditions beside the prefix, those of the filter as the resource or `own` has them. */
const conditionsOf = ({ of, conditions, names, param }: RowSelection, own: IndexFind['where'] = {}): string[] => {
  const ofFilter = (name: string) =>
    own[name]?.replaceAll('?', param(name)) ?? conditionsSql(of.conditions, [name], param);
  return [...conditions, ...names.flatMap(ofFilter)];
};

export const whereSql = (rows: RowSelection): string => allOf([...prefixSql(rows.prefix), ...conditionsOf(rows)]);

/** SQL for these values of the rows, in any order. */
export function rowsSql(rows: RowSelection, values: string): string {
  const where = whereSql(rows);
  return `select ${values} from ${fromClause(rows.of, values + where)} where ${where}`;
}

type RowSlice = { bounds: readonly RangeEnd[]; backward: boolean; limit: string | number };

/** SQL for the first rows between two cursors (`backward`: the last ones). */
export function firstRowsSql(list: ListSelection, values: string, { bounds, backward, limit }: RowSlice): string {
  const { of } = list;
  const alias = aliasOf(of);
  const sort = narrowed(list);
  const far = bounds.filter(({ operator }) => operator.startsWith(backward ? '>' : '<'));
  const near = bounds.filter((one) => !far.includes(one));
  const range = rangeSql(sort, list.prefix, near, backward);
  const order = orderBySql(sort, [...range.before, ...sort.columns], backward);
  const where = allOf([...range.conditions, ...conditionsOf(list)]);
  const from = (read: string, table = of.table) => fromClause({ ...of, table, lookups: {} }, read + where + order);
  const parts = { alias, range: allOf(range.conditions), where, order, limit: String(limit), table: from('') };
  const rows = foundOrInOrder(list, parts) ?? storedOrBehind(list, parts, from);
  if (!rows && far.length === 0 && mentionedJoins(of.lookups, values).length === 0) {
    return fill(IN_ORDER, { ...parts, values, table: from(values) });
  }
  const inside = allOf(boundsSql(sort, far));
  return fill(VALUES, {
    ...parts,
    rows: rows ?? fill(IN_ORDER, { ...parts, values: `${alias}.*` }),
    values,
    joins: mentionedJoins({ ...of.joins, ...of.lookups }, values + inside + order).join(' '),
    inside,
  });
}

type Parts = Readonly<Record<'alias' | 'range' | 'where' | 'order' | 'limit' | 'table', string>>;

function foundOrInOrder(list: ListSelection, parts: Parts): string | null {
  const seek = seekOf(list);
  // The list is in the order of this index.
  if (!seek || seek.finds.every(({ order }) => order === list.sort.columns[0])) return null;
  const { lookups, isLookedUp } = lookupsOf(list, seek);
  const isFew = `(${isLookedUp} and (select count(*) from found) <= ${MOST_FOUND})`;
  return fill(FOUND_OR_IN_ORDER, { ...parts, lookups, found: foundSql(list, seek, MOST_FOUND + 1), isFew });
}

function storedOrBehind({ of, sort }: ListSelection, parts: Parts, from: (read: string, table: string) => string) {
  if (!sort.mayBeBehind || !of.behind) return null;
  const { is, columns, table } = of.behind;
  const all = columns.map((column) => `${parts.alias}.${column}`).join(', ');
  return fill(STORED_OR_BEHIND, { ...parts, columns: all, isBehind: is, behind: from('', table) });
}

/** SQL for up to `most` rows of a list without their values, for counting. */
export function rowsToCountSql(list: ListSelection, most: number): string {
  const all = `${rowsSql(list, '')} limit ${most}`;
  const seek = seekOf(list);
  if (!seek) return all;
  const found = foundSql(list, seek, most);
  return seek.values ? fill(LOOKED_UP_OR_ALL, { ...lookupsOf(list, seek), found, all }) : found;
}

/** The order, narrowed to the filter's bounds on the same column. */
function narrowed({ of, names, param, sort }: ListSelection): SortSql {
  if (sort.unindexed || of.bounds?.column !== sort.columns[0]) return sort;
  const part = names.flatMap((name) =>
    (of.bounds?.of[name] ?? []).map(({ operator, value }) => ({
      operator,
      place: [value.replaceAll('?', param(name))],
    })),
  );
  return { ...sort, part };
}

/** The first index that serves a condition of the filter. */
const seekOf = ({ of, names, sort }: ListSelection): IndexSeek | undefined =>
  sort.unindexed ? undefined : of.seeks?.find(({ by }) => names.includes(by));

/** SQL for up to so many rows of a list that an index has for a condition. */
function foundSql(list: ListSelection, seek: IndexSeek, most: number): string {
  const rows = seek.finds.map((find) => findSql(list, seek, find, String(most)));
  return rows.length === 1 ? `${rows[0]}` : `(${rows.join(') union all (')}) limit ${most}`;
}

function findSql(list: ListSelection, seek: IndexSeek, { each, where: own, order }: IndexFind, limit: string): string {
  const alias = aliasOf(list.of);
  const where = allOf([...prefixSql(list.prefix), ...conditionsOf(list, own)]);
  const table = fromClause({ ...list.of, lookups: {} }, where);
  const found = fill(IN_ORDER, { values: `${alias}.*`, table, where, order, limit });
  if (!each) return found;
  const { isLookedUp } = lookupsOf(list, seek);
  return fill(FOUND_OF_EACH, { alias, each: each.replaceAll('?', list.param(seek.by)), found, isLookedUp, limit });
}

/** `with` clauses of the values that are looked up first, and whether they are few enough. */
function lookupsOf({ of, prefix, param }: ListSelection, { by, values }: IndexSeek) {
  if (!values) return { lookups: '', isLookedUp: 'true' };
  const sql = values.sql.replaceAll('?', param(by));
  const parts = { values: sql, rows: values.rows, table: of.table, where: allOf(prefixSql(prefix)) };
  return { lookups: fill(LOOKUPS, parts), isLookedUp: IS_LOOKED_UP };
}
