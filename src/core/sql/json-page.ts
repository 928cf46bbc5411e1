import { type Context, hasScope } from '../context.ts';
import { readInput } from '../input.ts';
import { numbered } from './named.ts';
import { type Page, type Slice, sliceOf } from './page.ts';
import { compareSql, conditionsSql, fromSql, givenOf, ofCompany, orderOf, type Resource } from './resource.ts';
import { isValue, type JsonTable, jsonText, rowValueOf, type Selection } from './selection.ts';
import { ALL_ROWS, onPrimary, onReplica } from './send.ts';

/** A page of a list as it is sent: a JSON array that nobody needs to take apart. */
export interface JsonPage {
  json: string;
  /** The id of the last item, where the next page begins; null for an empty page. */
  last: string | null;
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

type Row = Readonly<Record<string, unknown>>;

/** What is selected of a row, and the row as JSON. */
interface RowWriter {
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
  const { columns, write } = writerOf(of.members, selection);
  const rows = await readRows(ctx, of, `${of.id} as id, ${columns}`, asked);
  const { items, more } = sliceOf(rows, asked.page);
  return { json: `[${items.map(write).join()}]`, last: (items.at(-1)?.id as string) ?? null, hasNext: more };
}

/** Reads a page as objects. */
export async function readSlice<T>(ctx: Context, of: Resource, asked: AskedList): Promise<Slice<T>> {
  const rows = await readRows(ctx, of, `${jsonText(of.members)} as json`, asked);
  return sliceOf(JSON.parse(`[${rows.map(({ json }) => json).join()}]`) as T[], asked.page);
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
      ...(on ? [on[0]] : []),
      ...conditionsSql(of.conditions, names, (name) => `$${name}`),
      ...(lacking && !hasScope(ctx, lacking.scope) ? [lacking.where] : []),
    ].join(' and ') || 'true'
  );
}

/** Reads the rows of a page, and one more where there is one. */
async function readRows(ctx: Context, of: Resource, columns: string, asked: AskedList): Promise<Row[]> {
  const { page, filter, company, on } = asked;
  const given = givenOf(of.conditions, of.filter && filter ? readInput(of.filter, filter) : {});
  const { columns: order, placeOf } = orderOf(of);
  const where = [
    whereSql(ctx, of, asked, given.names),
    ...(page.after === null ? [] : [compareSql(order, '>', placeOf('$after'))]),
    ...(page.before === null ? [] : [compareSql(order, '<', placeOf('$before'))]),
  ].join(' and ');
  // Written out: PostgreSQL plans for a tenth of the table where it does not see the number.
  const tail = `order by ${order.map((one) => (page.backward ? `${one} desc` : one)).join(', ')} limit ${page.limit + 1}`;
  const { text, names } = numbered(`select ${columns} from ${fromSql(of, columns + where)} where ${where} ${tail}`);
  const all: Record<string, unknown> = { ...page, ...given.values, ...on?.[1], company, now: ctx.now() };
  const send = of.primary ? onPrimary(ctx) : onReplica(ctx, given.names.length > 0 ? ALL_ROWS : page.limit);
  return (await send(
    text,
    names.map((name) => all[name]),
  )) as Row[];
}

/** By table and selection: those of REST are constants. */
const writers = new WeakMap<object, WeakMap<object, RowWriter>>();

function writerOf(table: JsonTable, selection: object): RowWriter {
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
