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
}

export interface RowValue {
  readonly sql: string;
  readonly write: (value: unknown) => string;
}

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
    row: { sql: `to_json(${column})::text`, write: String },
  }),
  orNull: ({ sql, bare, row }: ValueSql): ValueSql => ({
    sql: `coalesce(${bare ? `'"' || (${sql}) || '"'` : `(${sql})::text`}, 'null')`,
    ...(row && { row: { sql: row.sql, write: (value) => (value === null ? 'null' : row.write(value)) } }),
  }),
};

/** How Node writes a value; where nobody has said so, from the text that JSON has of it. */
export const rowValueOf = ({ sql, bare, row }: ValueSql): RowValue =>
  row ?? { sql: `(${sql})::text`, write: bare ? (value) => `"${value}"` : String };

/** An SQL expression for the JSON object of a row. */
export const jsonObject = <T>(table: JsonSql<T>): RawBuilder<T> => sql.raw(`${jsonText(table as JsonTable)}::json`);

/**
 * The same as text. `format` is given the object as it will look: half of what json_build_object takes, which looks at the
 * type of each value it is given, for every row.
 */
export function jsonText(table: JsonTable): string {
  const values: string[] = [];
  const text = shapeOf(table, values);
  return `format('${text}', ${values.join(', ')})`;
}

/** The object with a place for each value, which go into `values` in their order. */
function shapeOf(table: JsonTable, values: string[]): string {
  const members = Object.entries(table).map(([name, made]) => {
    if (isValue(made)) values.push(made.sql);
    return `"${name}":${isValue(made) ? (made.bare ? '"%s"' : '%s') : shapeOf(made, values)}`;
  });
  return `{${members.join(',')}}`;
}

export const isValue = (made: object): made is ValueSql => 'sql' in made && typeof made.sql === 'string';

/** The wanted members of a value that is already there; the same object as jsonObject's. */
export function pick<T extends object>(value: T, selection: Selection<T>): Partial<T> {
  const picked: Record<string, unknown> = {};
  for (const [name, wanted] of Object.entries(selection)) {
    const member = (value as Record<string, unknown>)[name];
    picked[name] = wanted === true || member === null ? member : pick(member as object, wanted as Selection<object>);
  }
  return picked as Partial<T>;
}
