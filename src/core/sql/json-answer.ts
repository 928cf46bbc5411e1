import { type RawBuilder, sql } from 'kysely';
import type { Context } from '../context.ts';
import { limitSql, type Page, pageSql, readPage } from './page.ts';
import { type JsonTable, json, objectShape, placeOf, type ValueSql } from './selection.ts';
import { ALL_ROWS, execute, onReplica } from './send.ts';

/** What a list's field was given; judged here, as everywhere. */
export type Args = Readonly<Record<string, unknown>>;

/** Rows that SQL can write as objects, with the lists that hang on each. */
export interface JsonSource {
  table: JsonTable;
  /** What a row is called. */
  alias: string;
  lists: Readonly<Record<string, JsonSource>>;
  /** What follows `from`, up to and with the conditions that confine it to the caller, or to the row it hangs on. */
  from(ctx: Context, args: Args): RawBuilder<unknown>;
}

/** What stands under each name, in the order in which it is to appear. */
export type Members<P = Part> = readonly (readonly [name: string, part: P])[];

/** Rows that are asked for with arguments; `args` says which of them are theirs. */
type Rows =
  | { kind: 'one'; source: JsonSource; args: number; members: Members }
  | { kind: 'list'; source: JsonSource; args: number; item: Members; connection: Members<ConnectionPart> };
interface Text {
  kind: 'text';
  text: string;
}
export type RootPart = Text | Rows;
/** A piece of an answer. */
export type Part = RootPart | { kind: 'value'; value: ValueSql } | { kind: 'object'; members: Members };

export const pageFacts = ['hasNextPage', 'hasPreviousPage', 'startCursor', 'endCursor'] as const;
export type PageFact = (typeof pageFacts)[number];
type PagePart = Text | { kind: 'fact'; fact: PageFact };
/** A piece of a connection; an object in it is its pageInfo. */
export type ConnectionPart = Text | { kind: 'items' } | { kind: 'object'; members: Members<PagePart> };

/** The place of a row in its list, as page.ts's cursorOf writes it. */
export const cursorSql = (id: string): ValueSql => ({
  sql: `translate(rtrim(encode(uuid_send(${id}), 'base64'), '='), '+/', '-_')`,
  bare: true,
});

/** A part that core cannot write as JSON for these arguments, though it can be read in another way. */
export class NotInSql extends Error {}

/**
 * Each part as JSON, made by the database in one statement however deep it goes: nothing is parsed, rebuilt and written
 * out again. null stands for a row that is not there. Throws what core's other functions would, and NotInSql.
 */
export async function answerBySql(
  ctx: Context,
  parts: readonly RootPart[],
  args: readonly Args[],
): Promise<(string | null)[]> {
  const columns = parts.flatMap((part, at) =>
    part.kind === 'text' ? [] : [sql`${rowsSql(ctx, part, args)} as ${sql.raw(`f${at}`)}`],
  );
  // Bounded before the database makes it: what could be longer is made piece by piece, and counted.
  if (sum(parts.map((part) => mostBytes(part, args))) > MOST_BYTES) throw new NotInSql();
  const rows = sum(parts.map((part) => mostRows(part, args)));
  const [row] = columns.length > 0 ? await execute<Row>(onReplica(ctx, rows), sql`select ${sql.join(columns)}`) : [];
  return parts.map((part, at) => (part.kind === 'text' ? part.text : (row?.[`f${at}`] ?? null)));
}

/** How many rows a part reads at most. */
function mostRows(part: Part, args: readonly Args[]): number {
  if (part.kind === 'text' || part.kind === 'value') return 0;
  const below = sum((part.kind === 'list' ? part.item : part.members).map(([, member]) => mostRows(member, args)));
  if (part.kind !== 'list') return below;
  const own = args[part.args] ?? {};
  return own.filter ? ALL_ROWS : readPage(own).limit * (1 + below);
}

/** Of the text of an answer that is made as a whole. */
const MOST_BYTES = 24 * 1024 * 1024;
/** Of a value that is no longer than a line. */
const LINE = 64;

/** How long the text of a part is at most. */
function mostBytes(part: ConnectionPart | Part | PagePart, args: readonly Args[]): number {
  const ofMembers = (members: Members<ConnectionPart | Part | PagePart>): number =>
    sum(members.map(([name, member]) => name.length + LINE + mostBytes(member, args)));
  if (part.kind === 'text') return part.text.length;
  if (part.kind === 'value') return part.value.most ?? LINE;
  if (part.kind === 'object' || part.kind === 'one') return ofMembers(part.members);
  if (part.kind !== 'list') return 0;
  return ofMembers(part.connection) + readPage(args[part.args] ?? {}).limit * ofMembers(part.item);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

type Row = Readonly<Record<string, string | null>>;

function rowsSql(ctx: Context, part: Rows, args: readonly Args[]): RawBuilder<unknown> {
  if (part.kind === 'list') return listSql(ctx, part, args);
  const { source, members } = part;
  return sql`(select ${objectSql(ctx, members, args)} from ${source.from(ctx, args[part.args] ?? {})})`;
}

/** `format` with the object as it will look, and its values. */
function objectSql(ctx: Context, members: Members, args: readonly Args[]): RawBuilder<unknown> {
  const values: RawBuilder<unknown>[] = [];
  const place = (part: Part): string => {
    if (part.kind === 'text') return part.text;
    if (part.kind === 'object') return shapeOf(part.members, place);
    values.push(part.kind === 'value' ? sql.raw(part.value.sql) : rowsSql(ctx, part, args));
    return part.kind === 'value' ? placeOf(part.value) : '%s';
  };
  return formatSql(shapeOf(members, place), values);
}

const formatSql = (shape: string, values: readonly RawBuilder<unknown>[]): RawBuilder<unknown> =>
  sql`format(${sql.join([sql.raw(`'${shape}'`), ...values])})`;

/** The object as it will look, with what `place` puts in place of each part. */
const shapeOf = <P>(members: Members<P>, place: (part: P) => string): string =>
  objectShape(members.map(([name, part]) => [name, place(part)]));

/** A page of a list; where nobody asks what comes after it, nobody looks. */
function listSql(ctx: Context, part: Extract<Rows, { kind: 'list' }>, args: readonly Args[]): RawBuilder<unknown> {
  const { source, item, connection } = part;
  const own = args[part.args] ?? {};
  const page = readPage(own);
  if (page.backward || own.orderBy) throw new NotInSql();
  const id = sql.ref(`${source.alias}.id`);
  const list = {
    page,
    holds: (condition: RawBuilder<unknown>) =>
      sql`exists (select from ${source.from(ctx, own)} and ${id} ${condition})`,
  };
  const values: RawBuilder<unknown>[] = [];
  const place = (piece: ConnectionPart | PagePart): string => {
    if (piece.kind === 'text') return piece.text;
    if (piece.kind === 'object') return shapeOf(piece.members, place);
    const items = piece.kind === 'items';
    values.push(items ? sql`array_to_string(p.items[1:${page.limit}], ',')` : facts[piece.fact](list));
    return items ? '[%s]' : '%s';
  };
  const { within } = pageSql(page, source.alias);
  const looksOn = connection.some(([, { kind }]) => kind === 'object');
  return sql`(select ${formatSql(shapeOf(connection, place), values)} from (
      select array_agg(i.id) as ids, array_agg(i.json) as items from (
        select ${id} as id, ${objectSql(ctx, item, args)} as json from ${source.from(ctx, own)}
        ${within} order by ${id} ${limitSql(page.limit + (looksOn ? 1 : 0))}
      ) i
    ) p)`;
}

/** What a page's facts are made of: `p`, which has read one item more, and the list, of whose ids it says whether it has such. */
interface List {
  page: Page;
  holds(condition: RawBuilder<unknown>): RawBuilder<unknown>;
}

const cursorOrNull = (id: string) => sql.raw(json.orNull(cursorSql(id)).sql);

/** The facts of a page that goes forward, as JSON. */
const facts: Record<PageFact, (list: List) => RawBuilder<unknown>> = {
  startCursor: () => cursorOrNull('p.ids[1]'),
  endCursor: ({ page }) => cursorOrNull(`p.ids[least(${page.limit}, cardinality(p.ids))]`),
  hasPreviousPage: ({ page: { after }, holds }) =>
    after === null ? sql.raw(`'false'`) : sql`(${holds(sql`<= ${after.id}::uuid`)})::text`,
  hasNextPage({ page: { limit, before }, holds }) {
    const more = sql`coalesce(cardinality(p.ids) > ${limit}, false)`;
    return before === null ? sql`(${more})::text` : sql`(${more} or ${holds(sql`>= ${before.id}::uuid`)})::text`;
  },
};
