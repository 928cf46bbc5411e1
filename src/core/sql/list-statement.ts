import { type Context, hasScope } from '../context.ts';
import { readInput } from '../input.ts';
import { firstRows, whereOf } from './list-rows.ts';
import { type Order, type Prefix, type Sort, sortOf } from './order.ts';
import type { Page } from './page.ts';
import { givenOf, prefixOf, type Resource, type Under } from './resource.ts';
import { type Numbered, numbered } from './sql.ts';

/** The rows of a list; `company` is null for rows of all companies. */
export interface Asked {
  company: string | null;
  /** The parent of the rows, and the values that its SQL names. */
  under?: Under;
  /** An additional condition. */
  on?: string;
  values?: Readonly<Record<string, unknown>>;
}
export interface AskedList extends Asked {
  page: Page;
  filter?: object | null | undefined;
}

/** Statements by resource, columns and the shape of the request. */
const kept = new WeakMap<Resource, Map<string, Map<string, object>>>();

/** A statement's text, made once for each shape of request; REST's parameters allow few shapes. */
export function keptText<T extends object>(of: Resource, columns: string, shape: string, make: () => T): T {
  const ofResource = madeIn(kept, of, () => new Map<string, Map<string, object>>());
  const ofColumns = madeIn(ofResource, columns, () => new Map<string, object>());
  return madeIn(ofColumns, shape, make) as T;
}

/** The map's value for a key, made and stored if there is none. */
export function madeIn<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** The columns that a list reads beside the id. */
export interface ListColumns {
  columns: readonly string[];
  /** The columns as SQL. */
  select: string;
}

interface ListText extends Pick<Numbered, 'names'> {
  /** The statement's text before and after the number of rows. */
  parts: readonly string[];
  /** Positions in a row of its id and of its cursor's text (-1 where the id is the cursor). */
  idAt: number;
  textAt: number;
}

/** The statement for a page from the beginning of the list or after a cursor. It reads one row more than the page. */
export function listStatement(ctx: Context, of: Resource, columns: ListColumns, asked: AskedList) {
  const { page, filter, company, under, on } = asked;
  const given = givenOf(of.conditions, of.filter && filter ? readInput(of.filter, filter) : {});
  const hidden = isHidden(ctx, of);
  const { after, order } = page;
  const shape = `${order.name} ${after !== null} ${hidden} ${company === null} ${given.names} ${under} ${on}`;
  const kept = keptText(of, columns.select, shape, () => writeList(of, columns, asked, given.names, hidden));
  const all: Record<string, unknown> = {
    ...placesOf(page),
    ...given.values,
    ...asked.values,
    ...of.values?.(ctx),
    company,
    now: ctx.now(),
  };
  return {
    ...kept,
    // The limit is written out: PostgreSQL plans for a tenth of the table where it does not see the number.
    text: kept.parts.join(String(page.limit + 1)),
    values: kept.names.map((name) => all[name]),
    /** A filter may look at more rows than it gives. */
    isLong: given.names.length > 0,
  };
}

const param = (name: string) => `$${name}`;

/** The placeholder for the number of rows. */
const LIMIT = '#limit#';

function writeList(
  of: Resource,
  { columns, select }: ListColumns,
  asked: AskedList,
  names: readonly string[],
  hidden: boolean,
): ListText {
  const { after, order } = asked.page;
  const sort = sortFor(of, order, names);
  const prefix = prefixFor(of, asked, names);
  const list = { of, sort, prefix, conditions: conditionsOf(of, asked, hidden), names, param };
  const bounds = after === null ? [] : [{ operator: '>' as const, place: sort.placeOf('$after', '$after_text') }];
  const known = columns.indexOf(of.id);
  const idAt = known < 0 ? columns.length : known;
  const textAt = sort.text === null ? -1 : columns.length + (known < 0 ? 1 : 0);
  const own = `${select}${known < 0 ? `, ${of.id} as id` : ''}${sort.text === null ? '' : `, (${sort.text})::text as text`}`;
  const { text, names: given } = numbered(firstRows(list, own, { bounds, backward: false, limit: LIMIT }));
  return { parts: text.split(LIMIT), names: given, idAt, textAt };
}

/** The order of a list whose filter has these conditions. */
export function sortFor({ id, order: fixed, sparse }: Resource, order: Order, names: readonly string[]): Sort {
  const few = sparse && names.some((name) => sparse.names.includes(name));
  return sortOf(order, id, few ? sparse.order : fixed);
}

const prefixFor = (of: Resource, { company, under }: Asked, names: readonly string[] = []): Prefix =>
  company === null ? [] : prefixOf(of, { under, names, param });

/** Whether the caller's scopes hide some rows. */
export const isHidden = (ctx: Context, { lacking }: Resource): boolean =>
  lacking !== undefined && !hasScope(ctx, lacking.scope);

/** SQL for conditions on rows of a company (null: any company) and values of these names. */
export const whereSql = (of: Resource, asked: Asked, names: readonly string[], hidden: boolean): string =>
  whereOf({ of, prefix: prefixFor(of, asked), conditions: conditionsOf(of, asked, hidden), names, param });

/** The conditions beside those of the prefix and the filter. */
function conditionsOf(of: Resource, { company, on }: Asked, hidden: boolean): string[] {
  const always = (company === null && of.whereOfAny) || of.where;
  return [...(always ? [always] : []), ...(on ? [on] : []), ...(of.lacking && hidden ? [of.lacking.where] : [])];
}

/** The values of a page's bounds, by the names that statements have for them. */
export const placesOf = ({ after, before }: Page) => ({
  after: after?.id,
  after_text: after?.text,
  before: before?.id,
  before_text: before?.text,
});
