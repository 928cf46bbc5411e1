import { type Bound, orderSql, type Prefix, rangeSql, type Sort } from './order.ts';
import { fromSql, mentioned, type Resource } from './resource.ts';

/** Which rows of a resource a list has, and in which order. */
export interface ListRows {
  of: Resource;
  sort: Sort;
  prefix: Prefix;
  /** Conditions beside the prefix. */
  conditions: readonly string[];
  /** The names of those that callers chose. */
  names: readonly string[];
}

/** As many are looked up and sorted, in place of being looked for in the list's order. */
const SOUGHT_MOST = 5000;

const equalities = (prefix: Prefix) => prefix.map(([column, value]) => `${column} = ${value}`);
const allOf = (conditions: readonly string[]) => conditions.join(' and ') || 'true';

/** The conditions of all rows of a list. */
export const whereOf = ({ prefix, conditions }: Pick<ListRows, 'prefix' | 'conditions'>): string =>
  allOf([...equalities(prefix), ...conditions]);

/** The values of the first rows between these places; `backward`: of the last. Only these rows are looked up. */
export function firstRows(
  list: ListRows,
  values: string,
  { bounds, backward, limit }: { bounds: readonly Bound[]; backward: boolean; limit: string | number },
): string {
  const { of, sort, prefix, conditions } = list;
  const range = rangeSql(sort, prefix, bounds);
  const order = orderSql(sort, sort.columns, backward, prefix);
  const where = allOf([...range, ...conditions]);
  const inOrder = (what: string, also = '') =>
    `select ${what} from ${fromSql({ ...of, lookups: {} }, what + where)} where ${also}${where} order by ${order} limit ${limit}`;
  const [alias = ''] = of.id.split('.');
  if (isSought(list)) {
    const few = `(select count(*) from few) <= ${SOUGHT_MOST}`;
    const sought = `select ${alias}.* from few ${alias} where ${few} and ${allOf(range)} order by ${order} limit ${limit}`;
    const page = `with few as materialized (${soughtRows(list, SOUGHT_MOST + 1)})
      select * from ((${sought}) union all (${inOrder(`${alias}.*`, `not ${few} and `)})) ${alias} order by ${order} limit ${limit}`;
    return `select ${values} from (${page}) ${fromSql({ ...of, table: alias }, values)} order by ${order}`;
  }
  const lookups = mentioned(of.lookups, values);
  if (lookups.length === 0) return inOrder(values);
  return `select ${values} from (${inOrder(`${alias}.*`)}) ${[alias, ...lookups].join(' ')} order by ${order}`;
}

/** Rows of a list for counting, at most so many. */
export const countedRows = (list: ListRows, most: number): string => {
  if (isSought(list)) return soughtRows(list, most);
  const where = whereOf(list);
  return `select from ${fromSql(list.of, where)} where ${where} limit ${most}`;
};

const isSought = ({ of, names }: ListRows): boolean => names.some((name) => of.seek?.names.includes(name));

/** The rows of a list in no order, looked up by its conditions for each parent that it may hang on. */
function soughtRows({ of, prefix, conditions }: ListRows, most: number): string {
  const [alias] = of.id.split('.');
  const { column = '', parents } = of.seek ?? {};
  const rows = (before: Prefix) =>
    `select ${alias}.* from ${of.table} where ${whereOf({ prefix: before, conditions })} limit ${most}`;
  if (!parents || prefix.some(([one]) => one === column)) return rows(prefix);
  return `select ${alias}.* from ${parents.from} cross join lateral (${rows([...prefix, [column, parents.id]])}) ${alias}
    where ${parents.where} limit ${most}`;
}
