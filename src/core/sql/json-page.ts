import { type Context, hasScope } from '../context.ts';
import { readInput } from '../input.ts';
import { numbered } from './named.ts';
import { comparedSql, orderSql, type Place, sortOf } from './order.ts';
import { type Page, placeOf, type Slice, sliceOf } from './page.ts';
import { conditionsSql, fromSql, givenOf, ofCompany, type Resource } from './resource.ts';
import { isValue, type JsonTable, jsonText, rowValueOf, type Selection } from './selection.ts';
import { ALL_ROWS, onPrimary, onReplica } from './send.ts';

/** A page of a list as it is sent: a JSON array that nobody needs to take apart. */
export interface JsonPage {
  json: string;
  /** Where the last item stands and the next page begins; null for an empty page. */
  last: Place | null;
  hasNext: boolean;
}

/** Which rows of a resource; `company` null for those of all. */
interface Asked {
  company: string | null;
  /** A condition of its own, on the values of these names. */
  on?: readonly [sql: string, values: Readonly<Record<string, unknown>>];
}
export interface AskedList extends Asked {
  page: Page;
  filter?: object | null | undefined;
}

/** The same, before anybody has put its rows together. */
export interface Lines extends Omit<JsonPage, 'json'> {
  lines: string[];
}

export type Row = Readonly<Record<string, unknown>> & { id: string; text?: string | null };

/** What is selected of a row, and the row as text. */
export interface RowWriter {
  columns: string;
  write(row: Row): string;
}

/** Reads a page and writes it as JSON: the same text that the database would write, which takes twice as long there. */
export async function readJsonPage<T>(
  ctx: Context,
  of: Resource,
  selection: Selection<T>,
  asked: AskedList,
): Promise<JsonPage> {
  const { lines, ...place } = await readLines(ctx, of, jsonWriter(of.members, selection), asked);
  return { json: `[${lines.join()}]`, ...place };
}

/** Reads a page and writes each of its rows. */
export async function readLines(
  ctx: Context,
  of: Resource,
  { columns, write }: RowWriter,
  asked: AskedList,
): Promise<Lines> {
  const slice = await readRows(ctx, of, columns, asked);
  return { lines: slice.items.map(write), last: placeOf(slice, -1), hasNext: slice.more };
}

/** Reads a page as objects. */
export async function readSlice<T>(ctx: Context, of: Resource, asked: AskedList): Promise<Slice<T>> {
  const { items, ...slice } = await readRows(ctx, of, `${jsonText(of.members)} as json`, asked);
  return { ...slice, items: JSON.parse(`[${items.map(({ json }) => json).join()}]`) };
}

/** Reads the one row that meets these conditions; throws what the resource says where there is none. */
export async function readOne<T>(
  ctx: Context,
  of: Resource,
  by: object,
  { company, send = of.primary ? onPrimary : onReplica }: { company: string | null; send?: typeof onReplica },
): Promise<T> {
  const { names, values } = givenOf(of.conditions, by);
  // What is malformed cannot exist.
  const isMalformed = Object.values(values).includes(null);
  const where = whereSql(ctx, of, { company }, names);
  const json = jsonText(of.members);
  const { text, names: taken } = numbered(`select ${json} as json from ${fromSql(of, json + where)} where ${where}`);
  const all: Record<string, unknown> = { ...values, company, now: ctx.now() };
  const rows = isMalformed
    ? []
    : await send(ctx)(
        text,
        taken.map((name) => all[name]),
      );
  const [row] = rows as { json: string }[];
  if (!row) throw of.missing(by);
  return JSON.parse(row.json);
}

/** Conditions for rows of a company (null: of any) that the caller may see, for values of these names. */
export function whereSql(ctx: Context, of: Resource, { company, on }: Asked, names: readonly string[]): string {
  const { lacking } = of;
  return (
    [
      ...(company === null ? [] : [ofCompany(of)]),
      ...(of.where ? [of.where] : []),
      ...(on ? [on[0]] : []),
      ...conditionsSql(of.conditions, names, (name) => `$${name}`),
      ...(lacking && !hasScope(ctx, lacking.scope) ? [lacking.where] : []),
    ].join(' and ') || 'true'
  );
}

async function readRows(ctx: Context, of: Resource, columns: string, asked: AskedList): Promise<Slice<Row>> {
  const { page, filter, company, on } = asked;
  const { limit, after, before, backward } = page;
  const given = givenOf(of.conditions, of.filter && filter ? readInput(of.filter, filter) : {});
  const sort = sortOf(page.order, of.id, of.order);
  const where = [
    whereSql(ctx, of, asked, given.names),
    ...(after === null ? [] : [comparedSql(sort, '>', sort.placeOf('$after', '$after_text'))]),
    ...(before === null ? [] : [comparedSql(sort, '<', sort.placeOf('$before', '$before_text'))]),
  ].join(' and ');
  const own = `${of.id} as id, ${sort.text ? `${sort.text} as text, ` : ''}${columns}`;
  // The limit is written out: PostgreSQL plans for a tenth of the table where it does not see the number.
  const tail = `order by ${orderSql(sort, sort.columns, backward)} limit ${limit + 1}`;
  const { text, names } = numbered(`select ${own} from ${fromSql(of, own + where)} where ${where} ${tail}`);
  const all: Record<string, unknown> = { ...placesOf(page), ...given.values, ...on?.[1], company, now: ctx.now() };
  const send = of.primary ? onPrimary(ctx) : onReplica(ctx, given.names.length > 0 ? ALL_ROWS : limit);
  const rows = (await send(
    text,
    names.map((name) => all[name]),
  )) as Row[];
  return sliceOf(rows, page, sort.text === null ? null : rows.map((row) => row.text ?? null));
}

/** The values of a page's bounds, by the names that statements have for them. */
export const placesOf = ({ after, before }: Page) => ({
  after: after?.id,
  after_text: after?.text,
  before: before?.id,
  before_text: before?.text,
});

/** By table and selection: those of REST are constants. */
const writers = new WeakMap<object, WeakMap<object, RowWriter>>();

/** Writes rows as JSON objects with these members. */
export function jsonWriter(table: JsonTable, selection: object): RowWriter {
  const ofTable = writers.get(table) ?? new WeakMap<object, RowWriter>();
  writers.set(table, ofTable);
  const made = ofTable.get(selection) ?? makeWriter(table, selection);
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
    columns: [...columns].map(([column, known]) => `${column} as ${known}`).join(', '),
    write(row) {
      let json = '';
      for (const { before, name, write } of values) json += before + write(row[name]);
      return json + end;
    },
  };
}
