import { type RawBuilder, sql } from 'kysely';
import type { Context } from './context.ts';
import { type Page, pageSql } from './page.ts';
import { read } from './sql.ts';

/** Which members of T are wanted, in the order in which they are to appear. */
export type Selection<T> = { readonly [Name in keyof T]?: true | Selection<NonNullable<T[Name]>> };

/** How each member of T is made in SQL: an expression with a JSON value, or such a table for an object. */
export type JsonSql<T> = { readonly [Name in keyof T]-?: string | JsonSql<NonNullable<T[Name]>> };

/** SQL for ISO 8601 UTC with milliseconds and Z. */
export const isoJson = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** An SQL expression for the JSON object of these members; of all, when none are named. */
export function jsonObject<T>(table: JsonSql<T>, selection?: Selection<T>): RawBuilder<unknown> {
  const made = texts.get(selection ?? table) ?? jsonText(table, selection);
  texts.set(selection ?? table, made);
  return sql.raw(made);
}

/** Selections are constants of the faces: their SQL is made once. */
const texts = new WeakMap<object, string>();

function jsonText(table: object, selection?: object): string {
  const members = Object.entries(selection ?? table).map(([name, wanted]) => {
    const made = (table as Record<string, string | object>)[name];
    if (made === undefined) throw new Error(`nothing is called ${name} here`);
    const nested = wanted === true || wanted === made ? undefined : wanted;
    return `'${name}', ${typeof made === 'string' ? made : jsonText(made, nested)}`;
  });
  return `json_build_object(${members.join(', ')})`;
}

/** A selection of everything that a table can make. */
export function everyMember<T>(table: JsonSql<T>): Selection<T> {
  const members = Object.entries(table as Record<string, string | JsonSql<unknown>>);
  return Object.fromEntries(
    members.map(([name, sql]) => [name, typeof sql === 'string' ? true : everyMember(sql)]),
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

/** A page of a list as the database wrote it: a JSON array that nobody needs to take apart. */
export interface JsonPage {
  json: string;
  /** The id of the last item, where the next page begins; null for an empty page. */
  last: string | null;
  hasNext: boolean;
}

/**
 * Reads a page, in the order of its ids, as one text of JSON: rows would be parsed, rebuilt and written out again for
 * the same text. `source` is what follows `from`, up to and with its conditions.
 */
export async function readJsonPage(
  ctx: Context,
  object: RawBuilder<unknown>,
  source: RawBuilder<unknown>,
  id: RawBuilder<unknown>,
  page: Page,
): Promise<JsonPage> {
  const { within, tail } = pageSql(page, id);
  const [row] = await read<{ json: string | null; last: string | null; more: boolean | null }>(
    ctx,
    sql`select '[' || string_agg(p.json, ',') filter (where p.n <= ${page.limit}) || ']' as json,
          max(p.id) filter (where p.n <= ${page.limit}) as last, bool_or(p.n > ${page.limit}) as more
        from (
          select ${id}::text as id, ${object}::text as json, row_number() over (order by ${id}) as n
          from ${source} ${within} ${tail}
        ) p`,
  );
  return { json: row?.json ?? '[]', last: row?.last ?? null, hasNext: row?.more ?? false };
}
