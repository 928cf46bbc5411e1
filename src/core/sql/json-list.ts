import { firstRowsSql, type ListSelection, rowsToCountSql } from './list-rows.ts';
import { orderBySql } from './order.ts';
import { MOST_COUNTED_ROWS, type PageArguments, plannedPageSize } from './page.ts';
import { conditionsSql, type FieldArguments, type ListField, type PageFact } from './resource.ts';

export class ListSqlWriter {
  readonly list: ListSelection;
  readonly #page: PageArguments;
  readonly #storedCount: string | null;
  readonly #items: string[] = [];
  /** The names of the order's columns in the rows of the page. */
  readonly #keys: readonly string[];
  readonly #aggregates = new Set<string>();
  #total: string | null = null;

  constructor(list: ListSelection, page: PageArguments, { storedCount }: ListField, { names }: FieldArguments) {
    this.list = list;
    this.#page = page;
    this.#storedCount = storedCountSql(storedCount, names, list.param);
    this.#keys = list.sort.columns.map((column, at) => (column === list.of.id ? 'id' : `k${at}`));
  }

  item(object: string): string {
    return `p.j${this.#items.push(object) - 1}`;
  }

  /** The number of rows of the list, or whether it is exact. */
  count(of?: 'isExact'): string {
    if (this.#storedCount) return of ? `'true'` : this.#storedCount;
    this.#total = countSql(this.list);
    return of ? `(total.n <= ${MOST_COUNTED_ROWS})::text` : `least(total.n, ${MOST_COUNTED_ROWS})`;
  }

  fact(fact: PageFact): string {
    this.#aggregates.add('id');
    if (fact === 'first') return this.#cursor('1');
    if (fact === 'last') return this.#cursor('cardinality(p.id)');
    return fact === 'hasNext' ? this.#beyond('>', 'cardinality(p.id)', 'before') : this.#beyond('<', '1', 'after');
  }

  rowCursor(): string {
    const { of, sort } = this.list;
    return sort.cursor(of.id, sort.text ?? '');
  }

  #cursor(at: string): string {
    const { sort } = this.list;
    if (sort.text !== null) this.#aggregates.add('text');
    return `coalesce('"' || ${sort.cursor(`p.id[${at}]`, `p.text[${at}]`)} || '"', 'null')`;
  }

  #place(cursor: 'after' | 'before'): readonly string[] {
    const { sort, param } = this.list;
    return sort.placeOf(param(cursor), param(`${cursor}_text`));
  }

  /** Whether the row of a cursor still exists. */
  isThere(cursor: 'after' | 'before'): string {
    return `${this.#place(cursor)[0]} is not null`;
  }

  /** Whether the list has rows beyond the page; for an empty page, at the cursor or beyond. */
  #beyond(operator: '<' | '>', at: string, cursor: 'after' | 'before'): string {
    const isBounded = this.#page[cursor] !== null;
    if (!isBounded && this.#page.backward === (cursor === 'before')) return `'false'`;
    for (const key of this.#keys) this.#aggregates.add(key);
    const end = this.#keys.map((key) => `p.${key}[${at}]`);
    const rows = this.#exists(operator, end);
    const ofEmpty = isBounded ? this.#exists(`${operator}=`, this.#place(cursor)) : 'false';
    return `(case when p.id is null then ${ofEmpty} else ${rows} end)::text`;
  }

  #exists(operator: '<' | '>' | '<=' | '>=', place: readonly string[]): string {
    const bounds = [{ operator, place }];
    const first = { bounds, backward: operator.startsWith('<'), limit: 1 };
    // `exists` ignores the order: the planner, expecting a row soon, would read other lists from the start.
    return `coalesce((${firstRowsSql(this.list, 'true', first)}), false)`;
  }

  /** SQL for the whole connection; `object` is SQL over the page `p`. */
  sql(object: string): string {
    const aggregates = [
      ...[...this.#aggregates].map((key) => `array_agg(i.${key}) as ${key}`),
      ...this.#items.map((_, at) => `string_agg(i.j${at}, ',') as j${at}`),
    ];
    const from = [
      ...(aggregates.length > 0 ? [`(select ${aggregates.join(', ')} from ${this.#rows()} i) p`] : []),
      // `offset` makes PostgreSQL count once, however often the number is mentioned.
      ...(this.#total ? [`(select ${this.#total} as n offset 0) total`] : []),
    ];
    return from.length > 0 ? `(select ${object} from ${from.join(' cross join ')})` : object;
  }

  /** The page is sorted before it is aggregated: the order of one aggregate would change that of others. */
  #rows(): string {
    const { limit, after, before, backward } = this.#page;
    const { of, sort, param } = this.list;
    const { columns, text } = sort;
    const bounds = [
      ...(after === null ? [] : [{ operator: '>' as const, place: this.#place('after') }]),
      ...(before === null ? [] : [{ operator: '<' as const, place: this.#place('before') }]),
    ];
    const values = [
      `${of.id} as id`,
      ...columns.flatMap((column, at) => (this.#keys[at] === 'id' ? [] : `${column} as ${this.#keys[at]}`)),
      ...(text !== null && this.#aggregates.has('text') ? [`${text} as text`] : []),
      ...this.#items.map((item, at) => `${item} as j${at}`),
    ].join(', ');
    const rows = firstRowsSql(this.list, values, { bounds, backward, limit: plannedPageSize(limit) });
    const page = `select * from (${rows}) i limit ${param('limit')}`;
    const keys = this.#keys.map((key) => `i.${key}`);
    return backward ? `(select * from (${page}) i order by ${orderBySql(sort, keys, false)})` : `(${page})`;
  }
}

/** The stored number of rows that meet these conditions; null where none is stored. */
function storedCountSql(
  stored: ListField['storedCount'],
  names: readonly string[],
  param: ListSelection['param'],
): string | null {
  if (stored?.all && names.length === 0) return stored.all;
  if (!stored || !names.every((name) => name in stored.conditions)) return null;
  const where = conditionsSql(stored.conditions, names, param).map((one) => ` and ${one}`);
  return `(select coalesce(sum(${stored.sum}), 0) from ${stored.from}${where.join('')})`;
}

function countSql(list: ListSelection): string {
  const count = (rows: ListSelection) => `(select count(*) from (${rowsToCountSql(rows, MOST_COUNTED_ROWS + 1)}) n)`;
  const { where, whereForAll } = list.of;
  const conditions = list.conditions.filter((one) => one !== where);
  if (!whereForAll || conditions.length === list.conditions.length) return count(list);
  return `(case when ${whereForAll} then ${count({ ...list, conditions })} else ${count(list)} end)`;
}
