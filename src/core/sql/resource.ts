import type { Scope } from '../context.ts';
import type { DomainError } from '../errors.ts';
import { readInput } from '../input.ts';
import type { ListDescription } from './list-description.ts';
import type { PageArguments } from './page.ts';
import type { JsonMembers, ValueSql } from './selection.ts';
import { isId } from './sql.ts';

/** A condition with `?` for its value, and a function that makes the value; null fits no row. */
type SqlCondition = readonly [sql: string, readAs?: (given: never) => unknown];
export type FilterConditions = Readonly<Record<string, SqlCondition>>;

/** A table's rows as interfaces show them. Its SQL may use `$company` and `$now`; aliases of joins are unique. */
export interface Resource extends ListDescription {
  table: string;
  id: string;
  /** The condition of visible rows. */
  where?: string;
  /** The condition of rows that callers without this scope see. */
  lacking?: { scope: Scope; where: string };
  /** Joined tables by their aliases; a statement has the joins whose aliases it mentions. */
  joins?: Readonly<Record<string, string>>;
  /** Lookups of exactly one row each, in place of joins. */
  lookups?: Readonly<Record<string, string>>;
  members: JsonMembers;
  /** Members that need more than the SQL in `members`. */
  fields?: ResourceFields;
  conditions: FilterConditions;
  /** The scope that reading needs; by default `fleets:read`. */
  scope?: Scope;
  /** Reads go to the primary, never to a replica. */
  primary?: true;
  missing(by: object): DomainError;
}

export type ResourceFields = Readonly<Record<string, ResourceField>>;
export type ResourceField = ValueField | ObjectField | UnionField | NestedRowsField | ManufacturerField | ReadField;
/** A field that reads other rows, by its arguments. */
export type ReadField = SingleRowField | ListField;

/** A value that `make` finishes; with `isText` only for graphql-js, since PostgreSQL writes the text itself. */
export interface ValueField {
  kind: 'value';
  value: ValueSql;
  make(json: never): unknown;
  isText?: true;
}
/** An object made of the same row; null where `unless` holds. */
interface ObjectField {
  kind: 'object';
  unless?: string;
  members: JsonMembers;
  fields?: ResourceFields;
}
/** An object of the same row whose type is the first that fits; one always fits. */
export type UnionField = { kind: 'union'; types: Readonly<Record<string, UnionFieldMember>> };
export type UnionFieldMember = { when: string } & Pick<ObjectField, 'members' | 'fields'>;
interface NestedRowsField {
  kind: 'rows';
  from: string;
  order: string;
  /** The most rows of one parent, if they may be many. */
  most?: number;
  members: JsonMembers;
}
/** The manufacturer of the row, or all manufacturers, which are not in the database. */
type ManufacturerField = { kind: 'manufacturer'; slug?: string };
/** Another row. It exists, unless the field's arguments, or `by`, name it. */
export interface SingleRowField {
  kind: 'one';
  of(): Resource;
  on?: string;
  by?(args: never): object;
}
/** The column that refers to a list's parent, and SQL for its value. */
export type ParentColumn = readonly [column: string, value: string];

export interface ListField {
  kind: 'list';
  of(): Resource;
  under?: ParentColumn;
  on?: string;
  /** Stored counts for these conditions; `all` is the stored number of all rows. */
  storedCount?: { sum: string; from: string; conditions: FilterConditions; all?: string };
  /** Every row below an existing parent meets the resource's `where`. */
  within?: true;
  /** There are always few rows, so reading all of them is quick. */
  short?: true;
  /** Conditions of which an index serves any one in the list's order. */
  indexed?: readonly string[];
}

/** The parts of an object by name, in the order of the answer; `chosen`: the caller has chosen the name. */
export type AnswerMembers = readonly (readonly [name: string, part: AnswerPart, chosen?: boolean])[];

/** Whether rows lie beyond a page, and the cursors of its ends. */
export type PageFact = 'hasNext' | 'hasPrevious' | 'first' | 'last';

/** A piece of an answer. `read` is the index of its arguments. */
export type AnswerPart =
  | { kind: 'text'; text: string }
  | { kind: 'value'; value: ValueSql; make?: ValueField['make'] }
  /** An object of the current row; null where `unless` holds. */
  | { kind: 'object'; members: AnswerMembers; unless?: string | undefined }
  /** An object of the current row, of the first type that fits. */
  | { kind: 'union'; types: readonly { name: string; when: string; members: AnswerMembers }[] }
  | { kind: 'one'; field: SingleRowField; read: number; members: AnswerMembers }
  | { kind: 'rows'; field: NestedRowsField; members: AnswerMembers }
  | { kind: 'manufacturer'; field: ManufacturerField; members: AnswerMembers }
  | { kind: 'member'; name: string }
  | { kind: 'list'; field: ListField; read: number; members: AnswerMembers }
  /** In a list: its items, a fact of its page, the cursor of a row, its count and whether that is exact. */
  | { kind: 'items'; members: AnswerMembers }
  | { kind: 'fact'; fact: PageFact }
  | { kind: 'cursor' }
  | { kind: 'count'; of?: 'isExact' };
export type ListAnswerPart = Extract<AnswerPart, { kind: 'list' }>;

/** The arguments of all fields of an answer, or what is wrong with them. */
export type ArgumentList = readonly (FieldArguments | Error)[];

/** The arguments of a field: the names of its conditions, its page, and the values of both. */
export interface FieldArguments {
  names: readonly string[];
  page?: PageArguments;
  values: Readonly<Record<string, unknown>>;
  /** A key of everything that changes the statement's text. */
  shape: string;
}

/** The id, or null for a malformed one, which finds no row. */
export const idOrNull = (id: string): string | null => (isId(id) ? id : null);

export const mentionedJoins = (joins: Resource['joins'] = {}, text: string): string[] =>
  Object.entries(joins).flatMap(([alias, join]) => (new RegExp(`\\b${alias}\\.`).test(text) ? join : []));

export const fromClause = ({ table, joins, lookups }: Resource, text: string): string =>
  [table, ...mentionedJoins({ ...joins, ...lookups }, text)].join(' ');

/** The conditions of a filter; throws ValidationFailed. */
export const readFilterConditions = ({ conditions, filter: schema }: Resource, filter?: object | null) =>
  givenConditionsOf(conditions, schema && filter ? readInput(schema, filter) : {});

export type GivenConditions = ReturnType<typeof givenConditionsOf>;

/** The conditions for these values; a list of one may have its own condition. */
export function givenConditionsOf(conditions: FilterConditions, given: object) {
  const names: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value == null) continue;
    const alone = `${name}Alone`;
    const isAlone = Array.isArray(value) && value.length === 1 && alone in conditions;
    const [own, one] = isAlone ? [alone, value[0]] : [name, value];
    const [, readAs] = conditions[own] ?? [];
    names.push(own);
    values[own] = readAs ? readAs(one as never) : one;
  }
  return { names, values };
}

/** SQL for conditions, whose values `param` names. */
export const conditionsSql = (of: FilterConditions, names: readonly string[], param: (name: string) => string) =>
  names.map((name) => {
    const [sql] = of[name] ?? [];
    if (sql === undefined) throw new Error(`there is no condition for ${name}`);
    return sql.replaceAll('?', param(name));
  });
