import { type Expression, type RawBuilder, sql } from 'kysely';
import { isoAt } from './iso-time.ts';

/** Which members of T are wanted, in the order in which they are to appear. */
export type Selection<T> = { readonly [Name in keyof T]?: true | Selection<NonNullable<T[Name]>> };

/**
 * How a member is made in SQL: an expression whose text is JSON, never null. `bare`: its text goes between quotes as it
 * is, for it holds nothing that JSON would escape.
 */
export interface ValueSql {
  readonly sql: string;
  /** The same for a list of rows that Node writes, which costs PostgreSQL less than half: a column, and its value as JSON. */
  readonly row?: RowValue;
  readonly bare?: true;
  /** Bytes of its text at most, where that may be more than a line. */
  readonly most?: number;
}

export interface RowValue {
  readonly sql: string;
  readonly write: (value: unknown) => string;
}

/** 255 characters, each as JSON writes a control character, and the quotes. */
const MOST_TEXT = 255 * 6 + 2;

/** How each member of T is made: an expression, or such a table for an object. */
export type JsonSql<T> = { readonly [Name in keyof T]-?: MemberSql<NonNullable<T[Name]>> };
type MemberSql<V> = V extends readonly unknown[] ? ValueSql : V extends object ? ValueSql | JsonSql<V> : ValueSql;

/** A JsonSql, whatever it is of. */
export interface JsonTable {
  readonly [name: string]: ValueSql | JsonTable;
}

const ISO = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
/** SQL for ISO 8601 UTC with milliseconds and Z. */
export const isoSql = (column: string): string => `to_char(${column} at time zone 'UTC', '${ISO}')`;
/** The same of a typed expression. */
export const isoOf = <T extends string | null>(time: Expression<T>): RawBuilder<T> =>
  sql`to_char(${time} at time zone 'UTC', ${sql.lit(ISO)})`;

/** The kinds of members. `column` may be any expression that is never null; orNull is for those that may be. */
export const json = {
  /** What people or other services wrote. */
  text: (column: string): ValueSql => ({
    sql: `to_json(${column})`,
    most: MOST_TEXT,
    row: { sql: column, write: JSON.stringify },
  }),
  /** Ids, VINs and codes of our own. */
  code: (column: string): ValueSql => ({
    sql: column,
    bare: true,
    row: { sql: column, write: (value) => `"${value}"` },
  }),
  number: (column: string): ValueSql => ({ sql: column, row: { sql: column, write: String } }),
  time: (column: string): ValueSql => ({
    sql: isoSql(column),
    bare: true,
    row: { sql: `date_part('epoch', ${column})`, write: (seconds) => `"${isoAt(seconds as number)}"` },
  }),
  /** Lists, and what is JSON already. */
  value: (column: string): ValueSql => ({
    sql: `to_json(${column})`,
    most: MOST_TEXT,
    row: { sql: `to_json(${column})::text`, write: String },
  }),
  orNull: ({ sql, bare, row, ...more }: ValueSql): ValueSql => ({
    ...more,
    sql: `coalesce(${bare ? `'"' || (${sql}) || '"'` : `(${sql})::text`}, 'null')`,
    ...(row && { row: { sql: row.sql, write: (value) => (value === null ? 'null' : row.write(value)) } }),
  }),
};

/** How Node writes a value; where nobody has said so, from the text that JSON has of it. */
export const rowValueOf = ({ sql, bare, row }: ValueSql): RowValue =>
  row ?? { sql: `(${sql})::text`, write: bare ? (value) => `"${value}"` : String };

/** An SQL expression for the JSON object of these members; of all, when none are named. */
export const jsonObject = <T>(table: JsonSql<T>, selection?: Selection<T>): RawBuilder<unknown> =>
  sql`${jsonText(table, selection)}::json`;

/**
 * The same as text, which costs less where texts are put together. `format` is given the object as it will look: half of
 * what json_build_object takes, which looks at the type of each value it is given, for every row.
 */
export function jsonText<T>(table: JsonSql<T>, selection?: Selection<T>): RawBuilder<unknown> {
  const ofTable = texts.get(table) ?? new WeakMap<object, string>();
  texts.set(table, ofTable);
  const made = ofTable.get(selection ?? table) ?? formatOf(table, selection);
  ofTable.set(selection ?? table, made);
  return sql.raw(made);
}

/** By table and selection: those of REST are constants, and their SQL is made once. */
const texts = new WeakMap<object, WeakMap<object, string>>();

function formatOf(table: object, selection?: object): string {
  const values: string[] = [];
  const text = shapeOf(table, selection, values);
  return `format('${text}', ${values.join(', ')})`;
}

/** The object with a place for each value, which go into `values` in their order. */
function shapeOf(table: object, selection: object | undefined, values: string[]): string {
  return objectShape(
    Object.entries(selection ?? table).map(([name, wanted]) => {
      const made = (table as Record<string, ValueSql | object>)[name];
      if (made === undefined) throw new Error(`nothing is called ${name} here`);
      if (!isValue(made)) return [name, shapeOf(made, wanted === true || wanted === made ? undefined : wanted, values)];
      values.push(made.sql);
      return [name, placeOf(made)];
    }),
  );
}

/** An object as it will look, for `format`. */
export const objectShape = (members: readonly (readonly [name: string, shape: string])[]): string =>
  `{${members.map(([name, shape]) => `"${name}":${shape}`).join(',')}}`;

/** Where `format` puts a value. */
export const placeOf = ({ bare }: ValueSql): string => (bare ? '"%s"' : '%s');

export const isValue = (made: object): made is ValueSql => 'sql' in made && typeof made.sql === 'string';

/** A selection of everything that a table can make. */
export function everyMember<T>(table: JsonSql<T>): Selection<T> {
  const members = Object.entries(table as Record<string, ValueSql | JsonSql<unknown>>);
  return Object.fromEntries(
    members.map(([name, made]) => [name, isValue(made) ? true : everyMember(made)]),
  ) as Selection<T>;
}

/** The wanted members of a value that is already there; the same object as jsonObject's. */
export function pick<T extends object>(value: T, selection: Selection<T>): Partial<T> {
  const picked: Record<string, unknown> = {};
  for (const [name, wanted] of Object.entries(selection)) {
    const member = (value as Record<string, unknown>)[name];
    picked[name] = wanted === true || member === null ? member : pick(member as object, wanted as Selection<object>);
  }
  return picked as Partial<T>;
}

/** The values of rows that have them as text; parsed at once, which costs less than one by one. */
export const parseAll = <T>(rows: readonly { json: string }[]): T[] =>
  JSON.parse(`[${rows.map(({ json }) => json).join(',')}]`);
