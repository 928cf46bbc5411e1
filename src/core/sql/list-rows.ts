import { orderSql, type Prefix, type RangeEnd, rangeSql, type Sort } from './order.ts';
import { conditionsSql, fromClause, type IndexColumn, type IndexKey, mentioned, type Resource } from './resource.ts';

/** Which rows of a resource a list has, and in which order. */
export interface ListRows {
  of: Resource;
  sort: Sort;
  prefix: Prefix;
  /** Conditions beside the prefix and the filter. */
  conditions: readonly string[];
  /** The names of the filter's conditions, and how a statement calls their values. */
  names: readonly string[];
  param(name: string): string;
}

/** Up to this many rows are looked up by a key and sorted; more are searched in the list's order. */
const SOUGHT_MOST = 5000;

const equalities = (prefix: Prefix) => prefix.map(([column, value]) => `${column} = ${value}`);
const allOf = (conditions: readonly string[]) => conditions.join(' and ') || 'true';

/** The conditions beside the prefix, without those in `said`, which the statement expresses elsewhere. */
const conditionsOf = (
  { of, conditions, names, param }: Omit<ListRows, 'sort'>,
  said: readonly string[] = [],
): string[] => [
  ...conditions,
  ...conditionsSql(
    of.conditions,
    names.filter((name) => !said.includes(name)),
    param,
  ),
];

/** The conditions of all rows of a list. */
export const whereOf = (list: Omit<ListRows, 'sort'>): string =>
  allOf([...equalities(list.prefix), ...conditionsOf(list)]);

/** SQL for the first rows between two cursors (`backward`: the last ones). */
export function firstRows(
  list: ListRows,
  values: string,
  { bounds, backward, limit }: { bounds: readonly RangeEnd[]; backward: boolean; limit: string | number },
): string {
  const { of, prefix } = list;
  const sort = narrowed(list);
  const range = rangeSql(sort, prefix, bounds);
  const order = orderSql(sort, sort.columns, backward, prefix);
  // An equality beside the range would make a part of the order needless, and another index seem to have it.
  const where = allOf([...range, ...conditionsOf(list, sort.range && leadingOf(list))]);
  const inOrder = (what: string, also = '') =>
    `select ${what} from ${fromClause({ ...of, lookups: {} }, what + where)} where ${also}${where} order by ${order} limit ${limit}`;
  const [alias = ''] = of.id.split('.');
  const key = keyOf(list);
  if (key && (key[0]?.or || key[0]?.column !== sort.columns[0])) {
    const few = `(select count(*) from few) <= ${SOUGHT_MOST}`;
    const sought = `select ${alias}.* from few ${alias} where ${few} and ${allOf(range)} order by ${order} limit ${limit}`;
    const page = `with few as materialized (${soughtRows(list, key, SOUGHT_MOST + 1)})
      select * from ((${sought}) union all (${inOrder(`${alias}.*`, `not ${few} and `)})) ${alias} order by ${order} limit ${limit}`;
    return `select ${values} from (${page}) ${fromClause({ ...of, table: alias }, values)} order by ${order}`;
  }
  const lookups = mentioned(of.lookups, values);
  if (lookups.length === 0) return inOrder(values);
  return `select ${values} from (${inOrder(`${alias}.*`)}) ${[alias, ...lookups].join(' ')} order by ${order}`;
}

/** SQL for up to `most` rows of a list without their values, for counting. */
export const rowsToCountSql = (list: ListRows, most: number): string => {
  const key = keyOf(list);
  if (key) return soughtRows(list, key, most);
  const where = whereOf(list);
  return `select from ${fromClause(list.of, where)} where ${where} limit ${most}`;
};

/** The filter's conditions that the prefix expresses. */
const leadingOf = ({ of, prefix, names, param }: ListRows): string[] =>
  names.filter((name) => {
    const [leading, value] = of.leading?.[name] ?? [];
    return prefix.some(([column, own]) => column === leading && own === value?.replaceAll('?', param(name)));
  });

/** The order of the list, with its range narrowed to the bounds that the filter sets on the column of the order. */
function narrowed(list: ListRows): Sort {
  const { of, sort } = list;
  const own = of.seek?.keys.map(([first]) => first).find((first) => first?.column === sort.columns[0]);
  if (!own || own.or || !sort.range) return sort;
  const { least = sort.range[0], most = sort.range[1] } = endsOf(own, list);
  return { ...sort, range: [least, most] };
}

/** The first key of which the filter names a column. */
const keyOf = (list: ListRows): IndexKey | undefined =>
  list.of.seek?.keys.find((key) => key.some((column) => namesOf(column).some((name) => list.names.includes(name))));

const namesOf = ({ is, isOneOf, least, below }: IndexColumn) =>
  [is, isOneOf, least?.[0], below?.[0]].filter((name) => name !== undefined);

/** The range of a key's values that a filter allows; `each` lists single values. */
interface Ends {
  least?: string;
  most?: string;
  each?: string;
}

function endsOf(column: IndexColumn, { names, param }: ListRows, alias = ''): Ends {
  const { is, isOneOf, among } = column;
  if (is && names.includes(is)) return { least: param(is), most: param(is) };
  const set = isOneOf && names.includes(isOneOf) ? param(isOneOf) : among && `'{${among}}'`;
  if (set)
    return { least: `${alias}.of`, most: `${alias}.of`, each: `(select distinct unnest(${set}::text[])) ${alias}(of)` };
  const given = ([name, sql]: readonly string[] = []) =>
    name && names.includes(name) ? sql?.replaceAll('?', param(name)) : undefined;
  const [least, most] = [given(column.least), given(column.below)];
  return { ...(least && { least }), ...(most && { most }) };
}

/** SQL for the rows of a list in any order, looked up by a key for each possible parent. */
function soughtRows(list: ListRows, key: IndexKey, limit: number): string {
  const [{ or, ...first } = { column: '' }] = key;
  if (!or || !list.sort.range) return rowsOfKey(list, key, limit);
  const rows = [first, or].map((column) => `(${rowsOfKey(list, [column], limit)})`);
  return `${rows.join(' union all ')} limit ${limit}`;
}

function rowsOfKey(list: ListRows, key: IndexKey, limit: number): string {
  const { of, sort, prefix } = list;
  const [alias] = of.id.split('.');
  const { column = '', parents } = of.seek ?? {};
  const isUnder = !parents || key[0]?.ofCompany || prefix.some(([one]) => one === column);
  const before: Prefix = isUnder ? prefix : [...prefix, [column, parents.id]];
  const ends = key.map((one, at) => endsOf(one, list, `k${at}`));
  const whole = key.findIndex((_, at) => !ends[at]?.least && !ends[at]?.most);
  const used = whole < 0 ? key : key.slice(0, whole);
  const columns = [...before.map(([one]) => one), ...used.map((one) => one.column)];
  const values = (end: 'least' | 'most') => [
    ...before.map(([, value]) => value),
    ...used.flatMap((_, at) => ends[at]?.[end] ?? []),
  ];
  const bound = (operator: string, of: readonly string[]) =>
    `(${columns.slice(0, of.length).join(', ')}) ${operator} (${of.join(', ')})`;
  const said = [...leadingOf(list), ...used.flatMap(({ is, isOneOf }) => [is ?? '', isOneOf ?? ''])];
  const ofIndex = used.flatMap(({ where = [], least: [name = ''] = [] }) =>
    [where].flat().map((one) => one.replaceAll('?', list.param(name))),
  );
  const where = sort.range
    ? [bound('>=', values('least')), bound('<=', values('most')), ...ofIndex, ...conditionsOf(list, said)]
    : [...equalities(before), ...conditionsOf(list)];
  const order = sort.range ? `order by ${columns.join(', ')}` : '';
  const each = sort.range ? used.flatMap((_, at) => ends[at]?.each ?? []) : [];
  const rows = `select ${alias}.* from ${of.table} where ${allOf(where)} ${order} limit ${limit}`;
  const from = [...(isUnder ? [] : [parents.from]), ...each];
  if (from.length === 0) return rows;
  const there = isUnder ? 'true' : parents.where;
  return `select ${alias}.* from ${from.join(' cross join ')} cross join lateral (${rows}) ${alias}
    where ${there} limit ${limit}`;
}
