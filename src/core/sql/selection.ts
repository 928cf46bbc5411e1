import { type Expression, type RawBuilder, sql } from 'kysely';
import type { RowValue } from './row-values.ts';
import * as write from './row-values.ts';
import { TextSql } from './text-sql.ts';

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
    row: { sql: `${column}::text`, write: write.jsonString },
  }),
  /** VINs and codes of our own, and ids. */
  code: (column: string): ValueSql => ({
    sql: column,
    bare: true,
    row: { sql: `${column}::text`, write: write.jsonString },
  }),
  /** Ids that are a column of that type. */
  id: (column: string): ValueSql => ({
    sql: column,
    bare: true,
    row: { sql: column, write: write.quoted(write.uuid) },
  }),
  number: (column: string): ValueSql => ({ sql: column, row: { sql: `${column}::text`, write: write.plain } }),
  time: (column: string): ValueSql => ({
    sql: isoSql(column),
    bare: true,
    row: { sql: column, write: write.quoted(write.time) },
  }),
  texts: (column: string): ValueSql => ({
    sql: `to_json(${column})`,
    row: { sql: column, write: write.jsonStrings },
  }),
  /** Lists, and what is JSON already. */
  value: (column: string): ValueSql => ({ sql: `to_json(${column})` }),
  /** JSON for each of a few codes that a column may hold, and for all others. */
  oneOf: (column: string, texts: Readonly<Record<string, string>>, other: string): ValueSql => ({
    sql: `case ${column} ${Object.entries(texts)
      .map(([code, text]) => `when '${code}' then '${text}' `)
      .join('')}else '${other}' end`,
    row: { sql: `${column}::text`, write: write.oneOf(texts, other) },
  }),
  orNull: ({ sql, bare, row }: ValueSql): ValueSql => ({
    sql: `coalesce(${bare ? `'"' || (${sql}) || '"'` : `(${sql})::text`}, 'null')`,
    ...(row && { row: { sql: row.sql, write: write.orNull(row.write) } }),
  }),
};

/** How Node writes a value; where nobody has said so, from the text that JSON has of it. */
export const rowValueOf = ({ sql, bare, row }: ValueSql): RowValue =>
  row ?? { sql: `(${sql})::text`, write: bare ? write.quoted(write.plain) : write.plain };

/** An SQL expression for the JSON object of a row. */
export const jsonObject = <T>(table: JsonSql<T>): RawBuilder<T> => sql.raw(`${jsonText(table as JsonTable)}::json`);

/** The same as text. */
export function jsonText(table: JsonTable): string {
  const text = new TextSql();
  writeObject(text, table);
  return text.sql();
}

function writeObject(text: TextSql, table: JsonTable): void {
  for (const [at, [name, made]] of Object.entries(table).entries()) {
    text.text(`${at === 0 ? '{' : ','}"${name}":`);
    if (isValue(made)) text.value(made);
    else writeObject(text, made);
  }
  text.text('}');
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
