import type { Row } from '../../database/database.ts';
import type { Context } from '../context.ts';
import {
  type Asked,
  type AskedList,
  isHidden,
  keptText,
  type ListColumns,
  listStatement,
  whereSql,
} from './list-statement.ts';
import type { Place } from './order.ts';
import type { Slice } from './page.ts';
import { fromClause, givenOf, type Resource } from './resource.ts';
import { isValue, type JsonTable, jsonText, type RowValue } from './selection.ts';
import { ALL_ROWS, onPrimary, onReplica, readRows, readTexts } from './send.ts';
import { numbered } from './sql.ts';

/**
 * Reads a page, outside of transactions, and has `writer` write it: PostgreSQL would take twice as long for the same text.
 */
export async function readText(ctx: Context, of: Resource, writer: RowWriter, asked: AskedList): Promise<TextPage> {
  const { text, values, isLong, idAt, textAt } = listStatement(ctx, of, writer, asked);
  const rows = await readRows(ctx, text, values, { long: isLong });
  const { last, more, ...written } = writeRows(rows, writer, asked.page.limit);
  if (!last) return { ...written, last, hasNext: more };
  return { ...written, last: { id: last[idAt] ?? '', text: last[textAt] ?? null }, hasNext: more };
}

/** Reads a page as objects, of a list whose order callers have no choice of. */
export async function readSlice<T>(ctx: Context, of: Resource, asked: AskedList): Promise<Slice<T>> {
  const json = wholeOf(of);
  const { limit } = asked.page;
  const { text, values, isLong } = listStatement(ctx, of, { columns: [json], select: json }, asked);
  const most = isLong ? ALL_ROWS : limit;
  const rows = await readTexts(ctx, text, values, { most, newest: of.primary ?? false });
  const items = rows.slice(0, limit).map(([row]) => row);
  return { items: JSON.parse(`[${items.join()}]`), more: rows.length > limit };
}

/** All members as JSON. */
const wholeOf = (of: Resource): string =>
  keptText(of, '', 'whole', () => ({ json: `${jsonText(of.members)} as json` })).json;

/** Reads the one row that meets these conditions; throws what the resource says where there is none. */
export async function readOne<T>(
  ctx: Context,
  of: Resource,
  by: object,
  { company, send = of.primary ? onPrimary : onReplica }: { company: string | null; send?: typeof onReplica },
): Promise<T> {
  const { text, values } = oneStatement(ctx, of, wholeOf(of), by, { company });
  const [row] = values ? ((await send(ctx)(text, values)) as { json: string }[]) : [];
  if (!row) throw of.missing(by);
  return JSON.parse(row.json);
}

/** readOne outside transactions, with the text that `writer` makes. */
export async function readOneText(
  ctx: Context,
  of: Resource,
  writer: RowWriter,
  by: object,
  asked: Asked,
  { long = false } = {},
): Promise<string> {
  const { text, values } = oneStatement(ctx, of, writer.select, by, asked);
  const rows = values ? await readRows(ctx, text, values, { long }) : [];
  if (rows.length === 0) throw of.missing(by);
  return writeRows(rows, writer, 1).text;
}

/** The statement for one row; without values where what is given is malformed, which cannot exist. */
function oneStatement(ctx: Context, of: Resource, select: string, by: object, asked: Asked) {
  const given = givenOf(of.conditions, by);
  const hidden = isHidden(ctx, of);
  const { text, names } = keptText(of, select, `one ${given.names} ${asked.company === null} ${hidden}`, () => {
    const where = whereSql(of, asked, given.names, hidden);
    return numbered(`select ${select} from ${fromClause(of, select + where)} where ${where}`);
  });
  if (Object.values(given.values).includes(null)) return { text, values: null };
  const all: Record<string, unknown> = { ...given.values, ...of.values?.(ctx), company: asked.company, now: ctx.now() };
  return { text, values: names.map((name) => all[name]) };
}

export type { Row };

/** A page of a list as it is sent. */
export interface TextPage {
  text: string;
  /** The place of the last item, behind which the next page begins; null for an empty page. */
  last: Place | null;
  hasNext: boolean;
}

/** Columns to select, and how a row of them becomes text. */
export interface RowWriter extends ListColumns {
  write(row: Row): string;
  /** The texts of rows stand in a JSON array. */
  isArray: boolean;
}

export interface WrittenRows {
  text: string;
  last: Row | null;
  more: boolean;
}

/** Writes at most `limit` rows; gives the last of them, and whether there was one more. */
export function writeRows(rows: readonly Row[], { write, isArray }: RowWriter, limit: number): WrittenRows {
  const count = Math.min(rows.length, limit);
  let text = '';
  for (let at = 0; at < count; at++) {
    if (isArray && at > 0) text += ',';
    text += write(rows[at] as Row);
  }
  return { text: isArray ? `[${text}]` : text, last: rows[count - 1] ?? null, more: rows.length > limit };
}

/** Writes rows as JSON objects with these members: in an array, or each with `behind` behind it. */
export function jsonWriter(table: JsonTable, selection: object, behind?: string): RowWriter {
  const pieces: Piece[] = [];
  let text = '';
  const add = (members: JsonTable, selected: object) => {
    text += '{';
    for (const [at, [name, wanted]] of Object.entries(selected).entries()) {
      const member = members[name];
      if (!member) throw new Error(`nothing is called ${name} here`);
      text += `${at > 0 ? ',' : ''}"${name}":`;
      if (!isValue(member)) add(member, wanted === true ? member : wanted);
      else {
        const { sql, row = { sql }, bare } = member;
        const quote = bare && !row.write ? '"' : '';
        pieces.push([text + quote, row]);
        text = quote;
      }
    }
    text += '}';
  };
  add(table, selection);
  return { ...pieceWriter(pieces, text + (behind ?? '')), isArray: behind === undefined };
}

/** A value, and the text before it. */
export type Piece = readonly [before: string, value: RowValue];

/** Writes the pieces of each row. */
export function pieceWriter(pieces: readonly Piece[], end: string): Omit<RowWriter, 'isArray'> {
  // Several values can be made of one column.
  const columns = [...new Set(pieces.map(([, { sql }]) => sql))];
  const values = pieces.map(([before, { sql, write }]) => ({ before, column: columns.indexOf(sql), write }));
  return {
    columns,
    select: columns.join(', '),
    write(row) {
      let text = '';
      for (const { before, column, write } of values) {
        const value = row[column] ?? null;
        text += before;
        text += write ? write(value) : value;
      }
      return text + end;
    },
  };
}
