import type { Context } from '../context.ts';
import { type Asked, type AskedList, isHidden, keptText, listStatement, whereSql } from './list-statement.ts';
import { numbered } from './named.ts';
import type { Slice } from './page.ts';
import { fromSql, givenOf, type Resource } from './resource.ts';
import { type RowWriter, type TextPage, writeRows } from './row-writer.ts';
import { type JsonTable, jsonText } from './selection.ts';
import { ALL_ROWS, onPrimary, onReplica, readRows, readTexts } from './send.ts';

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
  const json = wholeOf(of.members);
  const { limit } = asked.page;
  const { text, values, isLong } = listStatement(ctx, of, { columns: [json], select: json }, asked);
  const most = isLong ? ALL_ROWS : limit;
  const rows = await readTexts(ctx, text, values, { most, newest: of.primary ?? false });
  const items = rows.slice(0, limit).map(([row]) => row);
  return { items: JSON.parse(`[${items.join()}]`), more: rows.length > limit };
}

const whole = new WeakMap<JsonTable, string>();

/** All members as JSON. */
function wholeOf(members: JsonTable): string {
  const json = whole.get(members) ?? `${jsonText(members)} as json`;
  whole.set(members, json);
  return json;
}

/** Reads the one row that meets these conditions; throws what the resource says where there is none. */
export async function readOne<T>(
  ctx: Context,
  of: Resource,
  by: object,
  { company, send = of.primary ? onPrimary : onReplica }: { company: string | null; send?: typeof onReplica },
): Promise<T> {
  const { text, values } = oneStatement(ctx, of, wholeOf(of.members), by, { company });
  const [row] = values ? ((await send(ctx)(text, values)) as { json: string }[]) : [];
  if (!row) throw of.missing(by);
  return JSON.parse(row.json);
}

/** The same, outside of transactions, as `writer` writes it. */
export async function readOneText(
  ctx: Context,
  of: Resource,
  writer: RowWriter,
  by: object,
  asked: Asked,
): Promise<string> {
  const { text, values } = oneStatement(ctx, of, writer.select, by, asked);
  const rows = values ? await readRows(ctx, text, values) : [];
  if (rows.length === 0) throw of.missing(by);
  return writeRows(rows, writer, 1).text;
}

/** The statement for one row; without values where what is given is malformed, which cannot exist. */
function oneStatement(ctx: Context, of: Resource, select: string, by: object, asked: Asked) {
  const given = givenOf(of.conditions, by);
  const hidden = isHidden(ctx, of);
  const { text, names } = keptText(of, select, `one ${given.names} ${asked.company === null} ${hidden}`, () => {
    const where = whereSql(of, asked, given.names, hidden);
    return numbered(`select ${select} from ${fromSql(of, select + where)} where ${where}`);
  });
  if (Object.values(given.values).includes(null)) return { text, values: null };
  const all: Record<string, unknown> = { ...given.values, ...of.values?.(ctx), company: asked.company, now: ctx.now() };
  return { text, values: names.map((name) => all[name]) };
}
