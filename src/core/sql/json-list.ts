import type { Given, ListPart, PageFact } from './json-parts.ts';
import { firstRows, type ListRows, rowsToCountSql } from './list-rows.ts';
import { orderSql, type Sort } from './order.ts';
import { COUNTED_MOST, plannedFor } from './page-size.ts';
import { conditionsSql, type Resource } from './resource.ts';

/** Writes the SQL of one page of a list. */
export class ListSql {
  readonly sort: Sort;
  readonly #of: Resource;
  readonly #part: ListPart;
  readonly #given: Required<Given>;
  readonly #list: ListRows;
  readonly #items: string[] = [];
  /** The names of the order's columns in the rows of the page. */
  readonly #keys: readonly string[];
  #aggregates = new Set<string>();
  #total: string | null = null;

  constructor(part: ListPart, given: Required<Given>, list: ListRows) {
    this.#part = part;
    this.#given = given;
    this.#list = list;
    this.#of = list.of;
    this.sort = list.sort;
    this.#keys = this.sort.columns.map((column, at) => (column === this.#of.id ? 'id' : `k${at}`));
  }

  item(object: string): string {
    return `p.j${this.#items.push(object) - 1}`;
  }

  /** How many rows the list has, or whether that is exact. */
  count(of?: 'isExact'): string {
    const kept = this.#keptCount();
    if (kept) return of ? `'true'` : kept;
    this.#total = this.#rowsCounted();
    return of ? `(total.n <= ${COUNTED_MOST})::text` : `least(total.n, ${COUNTED_MOST})`;
  }

  #keptCount(): string | null {
    const { kept } = this.#part.field;
    const { names } = this.#given;
    if (kept?.all && names.length === 0) return kept.all;
    if (kept && names.every((name) => name in kept.conditions)) {
      const where = conditionsSql(kept.conditions, names, this.#list.param).map((one) => ` and ${one}`);
      return `(select coalesce(sum(${kept.sum}), 0) from ${kept.from}${where.join('')})`;
    }
    return null;
  }

  #rowsCounted(): string {
    const those = this.#counted(this.#list);
    const { where, whereForAll } = this.#of;
    const wherever = this.#list.conditions.filter((one) => one !== where);
    if (wherever.length === this.#list.conditions.length || !whereForAll) return those;
    return `(case when ${whereForAll} then ${this.#counted({ ...this.#list, conditions: wherever })} else ${those} end)`;
  }

  #counted(list: ListRows): string {
    return `(select count(*) from (${rowsToCountSql(list, COUNTED_MOST + 1)}) n)`;
  }

  /** A fact of the page `p` as JSON. */
  fact(fact: PageFact): string {
    this.#aggregates.add('id');
    const { after, before, backward } = this.#given.page;
    switch (fact) {
      case 'first':
        return this.#cursor('1');
      case 'last':
        return this.#cursor('cardinality(p.id)');
      case 'hasNext':
        return this.#beyond('>', 'cardinality(p.id)', before === null ? null : 'before', backward && before === null);
      default:
        return this.#beyond('<', '1', after === null ? null : 'after', !backward && after === null);
    }
  }

  /** The cursor of a row as a value of it. */
  rowCursor(): string {
    return this.sort.cursor(this.#of.id, this.sort.text ?? '');
  }

  #cursor(at: string): string {
    if (this.sort.text !== null) this.#aggregates.add('text');
    return `coalesce('"' || ${this.sort.cursor(`p.id[${at}]`, `p.text[${at}]`)} || '"', 'null')`;
  }

  #place(cursor: 'after' | 'before'): readonly string[] {
    return this.sort.placeOf(this.#list.param(cursor), this.#list.param(`${cursor}_text`));
  }

  /** Whether the row that a cursor names still has a place in the list. */
  isThere(cursor: 'after' | 'before'): string {
    return `${this.#place(cursor)[0]} is not null`;
  }

  /** Whether the list has rows beyond the page; of an empty one, at the cursor and beyond it. */
  #beyond(operator: '<' | '>', at: string, cursor: 'after' | 'before' | null, isEnd: boolean): string {
    if (isEnd) return `'false'`;
    for (const key of this.#keys) this.#aggregates.add(key);
    const rows = this.#exists(
      operator,
      this.#keys.map((key) => `p.${key}[${at}]`),
    );
    const ofEmpty = cursor ? this.#exists(`${operator}=`, this.#place(cursor)) : 'false';
    return `(case when p.id is null then ${ofEmpty} else ${rows} end)::text`;
  }

  #exists(operator: '<' | '>' | '<=' | '>=', place: readonly string[]): string {
    const first = { bounds: [{ operator, place }], backward: operator.startsWith('<'), limit: 1 };
    // Not `exists`: it ignores the order, and the planner, expecting a row soon, would read rows of other lists from the
    // start.
    return `coalesce((${firstRows(this.#list, 'true', first)}), false)`;
  }

  /** SQL for the whole connection; `object` is SQL over the page `p`. */
  sql(object: string): string {
    const aggregates = [
      ...[...this.#aggregates].map((key) => `array_agg(i.${key}) as ${key}`),
      ...this.#items.map((_, at) => `string_agg(i.j${at}, ',') as j${at}`),
    ];
    const from = [
      ...(aggregates.length > 0 ? [`(select ${aggregates.join(', ')} from ${this.#page()} i) p`] : []),
      // `offset` makes PostgreSQL count once, however often the number is mentioned.
      ...(this.#total ? [`(select ${this.#total} as n offset 0) total`] : []),
    ];
    return from.length > 0 ? `(select ${object} from ${from.join(' cross join ')})` : object;
  }

  /**
   * PostgreSQL plans for a tenth of the table where it does not see a limit, so one of a few is written out. The page is
   * put in its order before anything is aggregated, for an aggregate with an order of its own would change that of others.
   */
  #page(): string {
    const { limit, after, before, backward } = this.#given.page;
    const { columns, text } = this.sort;
    const bounds = [
      ...(after === null ? [] : [{ operator: '>' as const, place: this.#place('after') }]),
      ...(before === null ? [] : [{ operator: '<' as const, place: this.#place('before') }]),
    ];
    const values = [
      `${this.#of.id} as id`,
      ...columns.flatMap((column, at) => (this.#keys[at] === 'id' ? [] : `${column} as ${this.#keys[at]}`)),
      ...(text !== null && this.#aggregates.has('text') ? [`${text} as text`] : []),
      ...this.#items.map((item, at) => `${item} as j${at}`),
    ].join(', ');
    const rows = firstRows(this.#list, values, { bounds, backward, limit: plannedFor(limit) });
    const page = `select * from (${rows}) i limit ${this.#list.param('limit')}`;
    const keys = this.#keys.map((key) => `i.${key}`);
    return backward ? `(select * from (${page}) i order by ${orderSql(this.sort, keys, false)})` : `(${page})`;
  }
}
