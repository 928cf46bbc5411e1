import type { z } from 'zod';
import type { TextRow } from '../../database/database.ts';
import { type Context, contextOfNewestRead } from '../context.ts';
import { read, readPage, search } from '../database.ts';
import { firstRowsSql, hidesRows, type ListSelection, listSelectionOf, rowSelectionOf, rowsSql } from './list-rows.ts';
import { type PageArguments, pageBoundValues } from './page.ts';
import { givenConditionsOf, type Resource, readFilterConditions } from './resource.ts';
import { type JsonColumn, type JsonMembers, jsonObjectSql, type ValueSql, writeJsonObject } from './selection.ts';
import { getOrCreate, numberParameters } from './sql.ts';

interface PageRequest {
  company: string;
  page: PageArguments;
  filter?: object | null;
  on?: string;
}

interface RowRequest {
  company: string;
  /** It looks at many rows. */
  searches?: boolean;
}

/** Where rows of a resource are read. */
const readerOf = (ctx: Context, { primary }: Resource): Context => (primary ? contextOfNewestRead(ctx) : ctx);

/** Reads a page. `writer` writes its JSON, in half the time that PostgreSQL would take; in a transaction see readOneRowText. */
export async function readTextPage(ctx: Context, of: Resource, writer: RowWriter, request: PageRequest) {
  const { company, page, filter, on } = request;
  const { after, order, limit } = page;
  const given = readFilterConditions(of, filter);
  const hidden = hidesRows(ctx, of);
  const shape = `${order.name} ${after !== null} ${hidden} ${given.names} ${on}`;
  const { text, idAt, textAt, searches, lost, isThere, ...statement } = statementOf(of, writer.select, shape, () =>
    listText(listSelectionOf(of, order, { names: given.names, on, hidden }), writer, after !== null),
  );
  const values = statement.values({ ...pageBoundValues(page), ...given.values, company, now: ctx.now() });
  // The limit is written out: the planner takes a parameter for a tenth of the table.
  const limited = text.replaceAll(LIMIT, String(limit + 1));
  const reader = readerOf(ctx, of);
  const rows = await (searches ? search(reader, limited, values) : readPage(reader, limited, values, limit));
  if (rows.length === 0 && after && lost) {
    const found = await read(reader, isThere.text, isThere.values({ company, after: after.id }));
    if (found[0]?.[0] === 'false') throw lost('after');
  }
  const written = writeRows(rows, writer, limit);
  /** The position of the last item; null for an empty page. */
  const last = written.last && { id: written.last[idAt] ?? '', text: written.last[textAt] ?? null };
  return { text: written.text, last, hasNext: written.more };
}

export type TextPage = Awaited<ReturnType<typeof readTextPage>>;

const LIMIT = '#limit#';

/** The statement for a page and one row more, with the columns of a row's id and of its cursor's text (-1: the id suffices). */
function listText(list: ListSelection, { columns, select }: RowWriter, isAfter: boolean) {
  const { of, sort, names } = list;
  const bounds = isAfter ? [{ operator: '>' as const, place: sort.placeOf('$after', '$after_text') }] : [];
  const known = columns.indexOf(of.id);
  const idAt = known < 0 ? columns.length : known;
  const textAt = sort.text === null ? -1 : columns.length + (known < 0 ? 1 : 0);
  const own = `${select}${known < 0 ? `, ${of.id} as id` : ''}${sort.text === null ? '' : `, (${sort.text})::text as text`}`;
  const statement = numberParameters(firstRowsSql(list, own, { bounds, backward: false, limit: LIMIT }));
  const isThere = numberParameters(`select (${sort.placeOf('$after', '$after_text')[0]} is not null)::text`);
  // A filter, or an order without an index, may look at more rows than it gives.
  return {
    ...statement,
    idAt,
    textAt,
    searches: names.length > 0 || sort.unindexed === true || sort.mayBeBehind === true,
    lost: sort.lost,
    isThere,
  };
}

export async function readItemsPage<T>(ctx: Context, of: Resource, request: PageRequest): Promise<ItemsPage<T>> {
  const { text, ...page } = await readTextPage(ctx, of, wholeOf(of), request);
  return { ...page, items: JSON.parse(text) };
}

/** Reads the one row that meets these conditions; throws the resource's error where there is none. */
export const readOneRow = async <T>(ctx: Context, of: Resource, by: object, request: RowRequest): Promise<T> =>
  JSON.parse(await readOneRowText(ctx, of, wholeOf(of), by, request));

/** The one row that meets these conditions, as `writer` writes it; in a transaction, only one of texts can. */
export async function readOneRowText(ctx: Context, of: Resource, writer: RowWriter, by: object, request: RowRequest) {
  const { company, searches = false } = request;
  const { names, values } = givenConditionsOf(of.conditions, by);
  const hidden = hidesRows(ctx, of);
  const statement = statementOf(of, writer.select, `one ${names} ${hidden}`, () =>
    numberParameters(rowsSql(rowSelectionOf(of, { names, hidden }), writer.select)),
  );
  const taken = statement.values({ ...values, company, now: ctx.now() });
  // A malformed id or VIN cannot exist.
  const isMalformed = Object.values(values).includes(null);
  const [row] = isMalformed ? [] : await (searches ? search : read)(readerOf(ctx, of), statement.text, taken);
  if (!row) throw of.missing(by);
  return writer.write(row);
}

/** Statements by resource, columns and the shape of the request; there are few shapes. */
const statements = new WeakMap<Resource, Map<string, Map<string, object>>>();

function statementOf<T extends object>(of: Resource, select: string, shape: string, make: () => T): T {
  const ofResource = getOrCreate(statements, of, () => new Map<string, Map<string, object>>());
  const ofColumns = getOrCreate(ofResource, select, () => new Map<string, object>());
  return getOrCreate(ofColumns, shape, make) as T;
}

const wholeOf = (of: Resource): RowWriter =>
  statementOf(of, '', 'whole', () => {
    const json = `${jsonObjectSql(of.members)} as json`;
    return { columns: [json], select: json, write: ([row]) => `${row}`, isArray: true };
  });

export type { TextRow };

export type ItemsPage<T> = Omit<TextPage, 'text'> & { items: T[] };

/** Columns to select, with their SQL, and how a row of them becomes text. */
export interface RowWriter {
  columns: readonly string[];
  select: string;
  write(row: TextRow): string;
  /** The text is a JSON array of the rows. */
  isArray: boolean;
}

export type WrittenRows = ReturnType<typeof writeRows>;

/** Writes at most `limit` rows; gives the last of them, and whether there was one more. */
export function writeRows(rows: readonly TextRow[], { write, isArray }: RowWriter, limit: number) {
  const texts = rows.slice(0, limit).map(write);
  const text = isArray ? `[${texts.join()}]` : texts.join('');
  return { text, last: rows[texts.length - 1] ?? null, more: rows.length > limit };
}

/** Writes rows as JSON objects of this shape: in an array, or each followed by `behind`. */
export function jsonRowWriter(table: JsonMembers, schema: z.ZodObject, behind?: string): RowWriter {
  const pieces: RowTextPiece[] = [];
  let before = '';
  const to = {
    text(text: string) {
      before += text;
    },
    value({ sql, row = { sql }, bare }: ValueSql) {
      const quote = bare && !row.write ? '"' : '';
      pieces.push([before + quote, row]);
      before = quote;
    },
  };
  writeJsonObject(to, table, schema);
  return pieceRowWriter(pieces, before + (behind ?? ''), behind === undefined);
}

type RowTextPiece = readonly [before: string, value: JsonColumn];

export function pieceRowWriter(pieces: readonly RowTextPiece[], end: string, isArray = false): RowWriter {
  // Several values can be made of one column.
  const columns = [...new Set(pieces.map(([, { sql }]) => sql))];
  const values = pieces.map(([before, { sql, write }]) => ({ before, column: columns.indexOf(sql), write }));
  const writeRow = (row: TextRow) => {
    let text = '';
    for (const { before, column, write } of values) {
      const value = row[column] ?? null;
      text += before;
      text += write ? write(value) : value;
    }
    return text + end;
  };
  return { columns, select: columns.join(', '), isArray, write: writeRow };
}
