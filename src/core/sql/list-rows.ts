import { type Context, hasScope } from '../context.ts';
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
import { MOST_COUNTED_ROWS } from './page.ts';
import {
  conditionsSql,
  fromClause,
  type IndexColumn,
  type IndexKey,
  type ListField,
  mentionedJoins,
  type ParentColumn,
  type Resource,
} from './resource.ts';

interface RowsSpec extends Pick<ListField, 'under' | 'on' | 'few'> {
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
  const { id, leading = {}, where, lacking } = of;
  const led = under ? '' : (names.find((name) => name in leading) ?? '');
  const column = leading[led];
  const parent: ParentColumn | undefined = column === undefined ? under : [column, `${param(led)}::uuid`];
  const owner = [`${id.split('.')[0]}.company`, '$company'] as const;
  const prefix: EqualColumns = parent ? [owner, parent] : [owner];
  const others = [within ? undefined : where, on, hidden ? lacking?.where : undefined];
  const conditions = others.filter((one) => one !== undefined);
  return { of, prefix, conditions, names: names.filter((name) => name !== led), param };
}

/** `conditions` are those beside the prefix and the filter, `names` the filter's that are not in the prefix. */
type RowSelection = ReturnType<typeof rowSelectionOf>;

/** Rows as a list in this order; `few`: all are read and sorted. */
export function listSelectionOf(of: Resource, order: SortOrder, spec: RowsSpec): ListSelection {
  const { id, order: fixed, sparse } = of;
  const isSparse = sparse && spec.names.some((name) => sparse.names.includes(name));
  const sort = sortSqlOf(order, id, isSparse ? sparse.order : fixed);
  const isSorted = sort.unindexed || (spec.few && spec.under);
  return { ...rowSelectionOf(of, spec), sort: isSorted ? unindexed(sort) : sort };
}

export type ListSelection = RowSelection & { sort: SortSql };

export const hidesRows = (ctx: Context, { lacking }: Resource): boolean =>
  lacking !== undefined && !hasScope(ctx, lacking.scope);

/** Up to this many rows are looked up by a key and sorted; more are searched in the list's order. */
const SOUGHT_MOST = 5000;

const allOf = (conditions: readonly string[]) => conditions.join(' and ') || 'true';

/** The conditions beside the prefix, without those in `said`, which the statement expresses elsewhere. */
const conditionsOf = ({ of, conditions, names, param }: RowSelection, said: readonly string[] = []): string[] => {
  const others = names.filter((name) => !said.includes(name));
  return [...conditions, ...conditionsSql(of.conditions, others, param)];
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
  const { of, prefix } = list;
  const sort = narrowed(list);
  const isFar = ({ operator }: RangeEnd) => operator.startsWith(backward ? '>' : '<');
  const near = bounds.filter((one) => !isFar(one));
  const range = rangeSql(sort, prefix, near, backward);
  const order = orderBySql(sort, [...range.before, ...sort.columns], backward);
  const where = allOf([...range.conditions, ...conditionsOf(list)]);
  const [alias = ''] = of.id.split('.');
  const rowsOf = (table: string, what: string, also: string) =>
    `select ${what} from ${fromClause({ ...of, table, lookups: {} }, what + where + order)} where ${also}${where} order by ${order} limit ${limit}`;
  const inOrder = (what: string, also = '') => {
    if (!(sort.mayBeBehind && of.behind)) return rowsOf(of.table, what, also);
    const { is, columns, table } = of.behind;
    const all = columns.map((column) => `${alias}.${column}`).join(', ');
    const rows = [rowsOf(of.table, all, `${also}not ${is} and `), rowsOf(table, all, also)];
    return `select ${what} from ((${rows.join(') union all (')})) ${fromClause({ ...of, table: alias, lookups: {} }, what)} order by ${order} limit ${limit}`;
  };
  const soughtOrInOrder = (key: IndexKey) => {
    const few = allOf([isLookedUp(list, key), `(select count(*) from few) <= ${SOUGHT_MOST}`]);
    const sought = `select ${alias}.* from few ${alias} where ${few} and ${allOf(range.conditions)} order by ${order} limit ${limit}`;
    return `with ${statementSql(list, key)}few as materialized (${soughtRows(list, key, SOUGHT_MOST + 1)})
      select * from ((${sought}) union all (${inOrder(`${alias}.*`, `not (${few}) and `)})) ${alias} order by ${order} limit ${limit}`;
  };
  const key = keyOf(list);
  const isSought = key && (key[0]?.or || key[0]?.column !== sort.columns[0]);
  // The far end comes after the limit: before it, rows would be looked for beyond that end.
  const inside = boundsSql(sort, bounds.filter(isFar));
  if (!isSought && inside.length === 0 && mentionedJoins(of.lookups, values).length === 0) return inOrder(values);
  const page = isSought ? soughtOrInOrder(key) : inOrder(`${alias}.*`);
  const read = values + allOf(inside) + order;
  return `select ${values} from (${page}) ${fromClause({ ...of, table: alias }, read)} where ${allOf(inside)} order by ${order}`;
}

/** SQL for up to `most` rows of a list without their values, for counting. */
export function rowsToCountSql(list: ListSelection, most: number): string {
  const key = keyOf(list);
  const inAnyOrder = `${rowsSql(list, '')} limit ${most}`;
  if (!key) return inAnyOrder;
  const sought = soughtRows(list, key, most);
  if (!statementOf(list, key)) return sought;
  return `with ${statementSql(list, key)}few as (${sought})
    select from few union all (select from (${inAnyOrder}) n where not (${isLookedUp(list, key)}))`;
}

/** The statement that gives the values of a key, many of which may have no row. */
const statementOf = ({ names, sort }: ListSelection, [first]: IndexKey) =>
  first?.from && names.includes(first.from.name) && !sort.unindexed ? first.from : undefined;

const countedTo = (most: number | string, rows: string): string => `(select count(*) from (${rows} limit ${most}) n)`;

/**
 * `with` clauses of these values: up to one more than are looked up. Of very many values those with a row are found, unless the list
 * has fewer rows, which are walked then.
 */
function statementSql(list: ListSelection, key: IndexKey): string {
  const from = statementOf(list, key);
  if (!from) return '';
  const values = `select of from (${from.sql.replaceAll('?', list.param(from.name))}) one(of)`;
  const rows = `select from ${list.of.table} where ${allOf(prefixSql(list.prefix))}`;
  const isWalked = `(select listed.n < ${MOST_COUNTED_ROWS} and ${countedTo('listed.n + 1', values)} > listed.n
    from (select ${countedTo(MOST_COUNTED_ROWS, rows)} as n offset 0) listed)`;
  return `given(of) as materialized (${values} limit ${SOUGHT_MOST + 1}),
    side(is_few, is_walked) as materialized (select is_few, case when is_few then false else ${isWalked} end
      from (select (select count(*) from given) <= ${SOUGHT_MOST} as is_few offset 0) counted),
    sought(of) as materialized (select of from given where (select is_few from side) union all
      (${values} where not (select is_few or is_walked from side) and exists (${from.rows}) limit ${SOUGHT_MOST + 1})), `;
}

const isLookedUp = (list: ListSelection, key: IndexKey): string =>
  statementOf(list, key)
    ? `(not (select is_walked from side) and (select count(*) from sought) <= ${SOUGHT_MOST})`
    : 'true';

/** The order, narrowed to the filter's bounds on the same column. */
function narrowed(list: ListSelection): SortSql {
  const { of, sort } = list;
  const own = of.seek?.keys.map(([first]) => first).find((first) => first?.column === sort.columns[0]);
  return !own || own.or || sort.unindexed ? sort : { ...sort, part: partOf(endsOf(own, list)) };
}

const partOf = ({ least, most }: Ends = {}): RangeEnd[] => [
  ...(least ? [{ operator: '>=' as const, place: [least] }] : []),
  ...(most ? [{ operator: '<=' as const, place: [most] }] : []),
];

/** The first key of which the filter names a column. */
const keyOf = (list: ListSelection): IndexKey | undefined =>
  list.of.seek?.keys.find((key) => key.some((column) => namesOf(column).some((name) => list.names.includes(name))));

const namesOf = ({ is, isOneOf, from, least, below }: IndexColumn) =>
  [is, isOneOf, from?.name, least?.[0], below?.[0]].filter((name) => name !== undefined);

/** The range of a key's values that a filter allows; `each` lists single values. */
type Ends = { least?: string; most?: string; each?: string };

function endsOf(column: IndexColumn, { names, param }: ListSelection, alias = ''): Ends {
  const { is, isOneOf, among } = column;
  if (is && names.includes(is)) return { least: param(is), most: param(is) };
  const set = isOneOf && names.includes(isOneOf) ? param(isOneOf) : among && `'{${among}}'`;
  const one = `${alias}.of`;
  if (set) return { least: one, most: one, each: `(select distinct unnest(${set}::text[])) ${alias}(of)` };
  const given = ([name, sql]: readonly string[] = []) =>
    name && names.includes(name) ? sql?.replaceAll('?', param(name)) : undefined;
  if (column.from && names.includes(column.from.name)) return { least: one, most: one, each: `sought ${alias}(of)` };
  const least = given(column.least);
  const most = given(column.below) ?? (least && column.most);
  return { ...(least && { least }), ...(most && { most }) };
}

/** SQL for the rows of a list in any order, looked up by a key for each possible parent. */
function soughtRows(list: ListSelection, key: IndexKey, limit: number): string {
  const [{ or, ...first } = { column: '' }] = key;
  if (!or || list.sort.unindexed) return rowsOfKey(list, key, limit);
  const rows = [first, or].map((column) => `(${rowsOfKey(list, [column], limit)})`);
  return `${rows.join(' union all ')} limit ${limit}`;
}

function rowsOfKey(list: ListSelection, key: IndexKey, limit: number): string {
  const { of, sort, prefix } = list;
  const [alias] = of.id.split('.');
  const { column = '', parents } = of.seek ?? {};
  const isUnder = !parents || key[0]?.ofCompany || prefix.some(([one]) => one === column);
  const before: EqualColumns = isUnder ? prefix : [...prefix, [column, parents.id]];
  const ends = key.map((one, at) => endsOf(one, list, `k${at}`));
  const whole = key.findIndex((_, at) => !ends[at]?.least && !ends[at]?.most);
  const used = whole < 0 ? key : key.slice(0, whole);
  const equal = [...before, ...used.slice(0, -1).map((one, at) => [one.column, ends[at]?.least ?? ''] as const)];
  const ofKey = {
    columns: used.slice(-1).map((one) => one.column),
    descending: false,
    part: partOf(ends[used.length - 1]),
  };
  const said = used.flatMap(({ is, isOneOf, from }) => [is ?? '', isOneOf ?? '', from?.name ?? '']);
  const ofIndex = used.flatMap(({ where = [], least: [name = ''] = [] }) =>
    [where].flat().map((one) => one.replaceAll('?', list.param(name))),
  );
  const range = rangeSql(ofKey, equal, [], false);
  const where = sort.unindexed
    ? [...prefixSql(before), ...conditionsOf(list)]
    : [...range.conditions, ...ofIndex, ...conditionsOf(list, said)];
  const order = sort.unindexed ? '' : `order by ${orderBySql(ofKey, [...range.before, ...ofKey.columns], false)}`;
  const each = sort.unindexed ? [] : used.flatMap((_, at) => ends[at]?.each ?? []);
  const wanted = allOf(where);
  const rows = `select ${alias}.* from ${fromClause({ ...of, lookups: {} }, wanted)} where ${wanted} ${order} limit ${limit}`;
  const from = [...(isUnder ? [] : [parents.from]), ...each];
  if (from.length === 0) return rows;
  const there = allOf([isLookedUp(list, key), ...(isUnder ? [] : [parents.where])]);
  return `select ${alias}.* from ${from.join(' cross join ')} cross join lateral (${rows}) ${alias}
    where ${there} limit ${limit}`;
}
