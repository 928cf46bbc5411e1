import { type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import type { Place } from './order.ts';
import { type Page, pageSql, placeOf, sliceOf, textColumn } from './page.ts';
import { isValue, type JsonSql, type JsonTable, rowValueOf, type Selection } from './selection.ts';
import { ALL_ROWS, execute, onReplica } from './send.ts';

/** A page of a list as it is sent: a JSON array that nobody needs to take apart. */
export interface JsonPage {
  json: string;
  /** Where the last item stands and the next page begins; null for an empty page. */
  last: Place | null;
  hasNext: boolean;
}

/** The same, before anybody has put its rows together. */
export interface Lines extends Omit<JsonPage, 'json'> {
  lines: string[];
}

export type Row = Readonly<Record<string, unknown>> & { id: string; text?: string | null };

/** What is selected of a row, and the row as text. */
export interface RowWriter {
  columns: RawBuilder<unknown>;
  write(row: Row): string;
}

/** What follows `from`, up to and with its conditions; `alias` is its row in there. One that is `filtered` may look at any number of rows. */
export interface Source {
  source: RawBuilder<unknown>;
  alias: string;
  filtered?: boolean;
}

/**
 * Reads a page and writes it as JSON: the same text that jsonText has the database write, which takes twice as long there as
 * here.
 */
export async function readJsonPage<T>(
  ctx: Context,
  { table, selection }: { table: JsonSql<T>; selection: Selection<T> },
  source: Source,
  page: Page,
): Promise<JsonPage> {
  const { lines, ...place } = await readLines(ctx, jsonWriter(table, selection), source, page);
  return { json: `[${lines.join()}]`, ...place };
}

/** Reads a page and writes each of its rows. */
export async function readLines(
  ctx: Context,
  { columns, write }: RowWriter,
  { source, alias, filtered = false }: Source,
  page: Page,
): Promise<Lines> {
  const { within, tail, text } = pageSql(page, alias);
  const rows = await execute<Row>(
    onReplica(ctx, filtered ? ALL_ROWS : page.limit),
    sql`select ${sql.ref(`${alias}.id`)} as id ${textColumn(text)}, ${columns} from ${source} ${within} ${tail}`,
  );
  const slice = sliceOf(rows, page, text && rows.map((row) => row.text ?? null));
  return { lines: slice.items.map(write), last: placeOf(slice, -1), hasNext: slice.more };
}

/** By table and selection: those of REST are constants. */
const writers = new WeakMap<object, WeakMap<object, RowWriter>>();

/** Writes rows as JSON objects with these members. */
export function jsonWriter<T>(table: JsonSql<T>, selection: Selection<T>): RowWriter {
  const ofTable = writers.get(table) ?? new WeakMap<object, RowWriter>();
  writers.set(table, ofTable);
  const made = ofTable.get(selection) ?? makeWriter(table as JsonTable, selection);
  ofTable.set(selection, made);
  return made;
}

function makeWriter(table: JsonTable, selection: object): RowWriter {
  /** Some stand in two places. */
  const columns = new Map<string, string>();
  /** What stands before each value, and how it is written. */
  const values: { before: string; name: string; write: (value: unknown) => string }[] = [];
  let text = '';
  const add = (members: JsonTable, selected: object) => {
    text += '{';
    for (const [at, [name, wanted]] of Object.entries(selected).entries()) {
      const member = members[name];
      if (!member) throw new Error(`nothing is called ${name} here`);
      text += `${at > 0 ? ',' : ''}"${name}":`;
      if (!isValue(member)) add(member, wanted === true ? member : wanted);
      else {
        const { sql: column, write } = rowValueOf(member);
        const known = columns.get(column) ?? `v${columns.size}`;
        columns.set(column, known);
        values.push({ before: text, name: known, write });
        text = '';
      }
    }
    text += '}';
  };
  add(table, selection);
  const end = text;
  return {
    columns: sql.raw([...columns].map(([column, known]) => `${column} as ${known}`).join(', ')),
    write(row) {
      let json = '';
      for (const { before, name, write } of values) json += before + write(row[name]);
      return json + end;
    },
  };
}
