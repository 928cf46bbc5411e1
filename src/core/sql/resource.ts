import type { z } from 'zod';
import type { Context, Scope } from '../context.ts';
import type { DomainError } from '../errors.ts';
import type { FixedOrder, Orders, Prefix } from './order.ts';
import type { Page } from './page.ts';
import type { JsonTable, ValueSql } from './selection.ts';
import { isId } from './sql.ts';

/** A condition with `?` in place of a value, and what makes that of what was given; null fits nothing. */
export type Condition = readonly [sql: string, readAs?: (given: never) => unknown];
export type Conditions = Readonly<Record<string, Condition>>;

/**
 * Rows of a table as both interfaces show them. SQL in it may name `$company`, the caller's, `$now`, and in members the names of
 * `values`. Aliases of joins are no other resource's alias, for that one may stand around it.
 */
export interface Resource {
  /** The table with its alias. */
  table: string;
  /** The column of the id, behind the alias. */
  id: string;
  /** Which rows of the table are there for anybody; all of them without it. */
  where?: string;
  /** Whether that is so of all rows of the company: asked once, where rows are only counted. */
  whereForAll?: string;
  /** `where` for rows of any company, if it is asked otherwise then. */
  whereOfAny?: string;
  /** What stands beside the table, by the alias that whatever needs it mentions. */
  joins?: Readonly<Record<string, string>>;
  /** In place of joins: what is looked up for each row, of which there is always one. */
  lookups?: Readonly<Record<string, string>>;
  members: JsonTable;
  /** Members that are more than a value of the row, or more than `members` makes of them. */
  fields?: Fields;
  /** What reads a list's filter; each of its members is a condition. */
  filter?: z.ZodType<object>;
  conditions: Conditions;
  /** Conditions that are one value of a column which indexes have before the list's order, by their names. */
  leading?: Readonly<Record<string, Under>>;
  /** How rows are found for conditions that few of them may meet. */
  seek?: Seek;
  /** Conditions that few rows meet, which no index has in the list's order; and that order as no index has it. */
  sparse?: { names: readonly string[]; order: FixedOrder };
  /** What its lists can be sorted by, or the one order that they have; by default that of the ids. */
  orders?: Orders;
  order?: FixedOrder;
  readPage?(args: object): Page;
  /** What it takes instead of `fleets:read`. */
  scope?: Scope;
  /** Which rows are left to callers without a scope. */
  lacking?: { scope: Scope; where: string };
  /** What this process alone knows. */
  values?(ctx: Context): Readonly<Record<string, unknown>>;
  /** Never read from a replica. */
  primary?: true;
  /** The error where there is no row. */
  missing(by: object): DomainError;
}

export type Fields = Readonly<Record<string, Field>>;
export type Field = ValueField | ObjectField | UnionField | RowsField | LookupField | OneField | ListField;

/** A value that only `make` can finish; with `isText`, only for graphql-js: what PostgreSQL writes is the answer. */
export interface ValueField {
  kind: 'value';
  value: ValueSql;
  make(json: never): unknown;
  isText?: true;
}
/** An object made of the same row; null where `unless` holds. */
export interface ObjectField {
  kind: 'object';
  unless?: string;
  members: JsonTable;
  fields?: Fields;
}
/** An object made of the same row, of the first of these types that fits the row; one always does. */
export interface UnionField {
  kind: 'union';
  types: Readonly<Record<string, UnionMember>>;
}
export interface UnionMember {
  /** SQL: whether a row is of this type. */
  when: string;
  members: JsonTable;
  fields?: Fields;
}
/** A plain list. */
export interface RowsField {
  kind: 'rows';
  from: string;
  order: string;
  members: JsonTable;
}
/** The manufacturer whose slug the row has, or for none all of them: they are not in the database. */
export interface LookupField {
  kind: 'manufacturer';
  slug?: string;
}
/** Another row, which is always there; by its arguments, one that may be missing. */
export interface OneField {
  kind: 'one';
  of(): Resource;
  on?: string;
  by?(args: never): object;
}
/**
 * Rows are looked up for each parent (the fleets of the company), by indexes that begin with it and have a key next. So a
 * condition that no row meets costs a look for each parent, and not one at each row.
 */
export interface Seek {
  /** What the indexes have behind the company and the parent: the first that the filter names a column of is taken. */
  keys: readonly IndexKey[];
  column: string;
  /** The parents, with their id. */
  parents: { from: string; id: string; where: string };
}

export type IndexKey = readonly IndexColumn[];

/** A column of an index, as the index has it, with the names of conditions on it. */
export interface IndexColumn {
  column: string;
  /** It is this value, or one of these. */
  is?: string;
  isOneOf?: string;
  /** All the values that there are, for where no condition names one. */
  among?: readonly string[];
  /** It is this value or more, less than this one; with SQL that has `?` in place of what was given. */
  least?: readonly [name: string, sql: string];
  below?: readonly [name: string, sql: string];
  /** Which rows the index has; `?` in place of what was given. */
  where?: string;
  /** An index has it next to the company, too. */
  ofCompany?: true;
  /** The column of another key of one column: rows that are found by either fit. `where` says which only that one finds. */
  or?: IndexColumn;
}

/** The column of a list's rows that names what they hang on, and SQL for its value. */
export type Under = readonly [column: string, value: string];

/** Other rows, page by page. */
export interface ListField {
  kind: 'list';
  of(): Resource;
  under?: Under;
  on?: string;
  /** What its filter is, of its arguments; by default `filter`. */
  filterOf?(args: never): object | null | undefined;
  /** Counts that are kept, for these conditions; `all` where they stand beside the row: the number of all. */
  kept?: { sum: string; from: string; conditions: Conditions; all?: string };
  /** What a resource says of rows that are there (`where`) holds wherever the row is that they hang on. */
  within?: true;
  /** There are never so many that it takes long to look at all. */
  few?: true;
  /** Conditions of which an index serves any one in the list's order. */
  indexed?: readonly string[];
}

/** What a malformed id is looked up as: nothing has it. */
export const idOrNull = (id: string): string | null => (isId(id) ? id : null);

/** The caller's company, and what a list hangs on, by itself or by one of these conditions. */
export function prefixOf(
  { id, leading = {} }: Resource,
  {
    under,
    names = [],
    param,
  }: { under?: Under | undefined; names?: readonly string[]; param?(name: string): string } = {},
): Prefix {
  const name = names.find((one) => one in leading);
  const [column, value = ''] = (name && leading[name]) || [];
  const led: Under[] = column && name && param ? [[column, value.replaceAll('?', param(name))]] : [];
  return [[`${id.split('.')[0]}.company`, '$company'], ...(under ? [under] : led)];
}

/** Those of the joins and lookups that a text mentions. */
export const mentioned = (joins: Resource['joins'] = {}, text: string): string[] =>
  Object.entries(joins).flatMap(([alias, join]) => (mentions(text, alias) ? join : []));
const mentions = (text: string, alias: string) => new RegExp(`\\b${alias}\\.`).test(text);

/** The joins and lookups that a text mentions. */
export const joinsOf = ({ joins, lookups }: Pick<Resource, 'joins' | 'lookups'>, text: string): string[] => [
  ...mentioned(joins, text),
  ...mentioned(lookups, text),
];

/** What follows `from` for such a text. */
export const fromSql = (of: Resource, text: string): string => [of.table, ...joinsOf(of, text)].join(' ');

/** The names and values of what is given, as conditions take them: a list of one may have a condition of its own. */
export function givenOf(conditions: Conditions, given: object): { names: string[]; values: Record<string, unknown> } {
  const names: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value == null) continue;
    const alone = `${name}Alone`;
    const isAlone = Array.isArray(value) && value.length === 1 && alone in conditions;
    const own = isAlone ? alone : name;
    const one = isAlone ? value[0] : value;
    const [, readAs] = conditions[own] ?? [];
    names.push(own);
    values[own] = readAs ? readAs(one as never) : one;
  }
  return { names, values };
}

/** SQL for conditions, whose values `param` names. */
export const conditionsSql = (conditions: Conditions, names: readonly string[], param: (name: string) => string) =>
  names.map((name) => {
    const [sql] = conditions[name] ?? [];
    if (sql === undefined) throw new Error(`there is no condition for ${name}`);
    return sql.replaceAll('?', param(name));
  });
