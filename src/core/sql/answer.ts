import { LRUCache } from 'lru-cache';
import { type Context, contextOfNewestRead, contextOfSharedRead, requireCaller, requireScope } from '../context.ts';
import { readPage, search } from '../database.ts';
import { CostExceeded } from '../errors.ts';
import { AnswerSqlWriter, type CursorCheck, objectJson } from './json-answer.ts';
import { hidesRows } from './list-rows.ts';
import { MAX_PAGE_SIZE, MOST_COUNTED_ROWS, pageBoundValues, plannedPageSize, readPageArguments } from './page.ts';
import {
  type AnswerMembers,
  type AnswerPart,
  type ArgumentList,
  type FieldArguments,
  givenConditionsOf,
  type ListAnswerPart,
  mentionedJoins,
  type ReadField,
  type Resource,
  readFilterConditions,
} from './resource.ts';
import { numberParameters } from './sql.ts';

/** Parts that are read together. A statement is kept for each shape of their arguments. */
export interface ReadPlan {
  id: string;
  parts: AnswerMembers;
  /** The fields that take arguments, in the order of `given`. */
  fields: readonly ReadField[];
}

interface Statement {
  text: string;
  /** Manufacturers' JSON is part of the statement's text. */
  manufacturers: Context['services']['manufacturers'];
  /** The column of each part; none for a part that is not read. */
  columns: readonly (number | undefined)[];
  /** The parameters: a fixed text, or a named value of a field's arguments (`read`) or of the request. */
  values: readonly (string | { read: number; name: string })[];
  checks: readonly (Omit<CursorCheck, 'sql'> & { column: number })[];
}

/** The JSON of each part (null without a row), and the arguments of all fields. */
export type PlanAnswer = { texts: readonly (string | null)[]; reads: ArgumentList };

/** Objects that were read before, as columns of their ids; the statement gives a row for each. */
interface ParentRows extends Pick<Resource, 'lookups'> {
  alias: string;
  columns: Readonly<Record<string, readonly unknown[]>>;
  /** A single object that followers may share. */
  object?: object;
}

/** Reads the arguments of a field; throws ValidationFailed. */
export function readFieldArguments(field: ReadField, args: object): FieldArguments {
  const of = field.of();
  if (field.kind === 'one') {
    const given = givenConditionsOf(of.conditions, field.by ? field.by(args as never) : args);
    return { ...given, shape: `${given.names}` };
  }
  const page = of.readPage?.(args) ?? readPageArguments(args, of.orders);
  const { limit, after, before, backward, order } = page;
  // Some lists take their filter as arguments.
  const { names, values } = readFilterConditions(of, 'filter' in args ? (args.filter as object | null) : args);
  const shape = `${names}:${after !== null}${before !== null}${backward}${order.name}${plannedPageSize(limit)}`;
  return { names, page, values: { ...values, ...pageBoundValues(page), limit }, shape };
}

/** The largest result of a statement: it is received, sent and, where it has errors, parsed as a whole. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Reads the parts of a plan, except refused ones, in one statement, for each row of `rows`. Throws CostExceeded. */
export async function readPlanAnswers(
  ctx: Context,
  plan: ReadPlan,
  given: ArgumentList,
  rows: ParentRows | null = null,
): Promise<PlanAnswer[]> {
  const { company } = requireCaller(ctx);
  // The caller (graphql/execution/operation-reads.ts) has checked the scopes of all other parts.
  if (plan.parts.some(([, { kind }]) => kind === 'manufacturer')) requireScope(ctx, 'fleets:read');
  const count = rows ? (Object.values(rows.columns)[0]?.length ?? 0) : 1;
  const looked = await estimateRowsRead(ctx, plan.parts, given, count);
  const { text, values, columns, checks } = statementOf(ctx, plan, given, rows);
  const common: Record<string, unknown> = { company, now: ctx.now(), ...rows?.columns };
  const taken = values.map((value) => {
    if (typeof value === 'string') return value;
    const own = given[value.read];
    return own ? (own as FieldArguments).values[value.name] : common[value.name];
  });
  const isNewest = rows !== null || plan.fields.some((field) => field.of().primary);
  const { followers } = ctx.services;
  const object = rows?.object;
  const isShared = object !== undefined && followers.isShared(object);
  const reader = isShared ? contextOfSharedRead(ctx) : isNewest ? contextOfNewestRead(ctx) : ctx;
  const readRows = () => (looked > MAX_PAGE_SIZE ? search(reader, text, taken) : readPage(reader, text, taken, looked));
  // Without `now`: followers that read the same object at different times share the answer.
  const asked = () => values.map((value, at) => (typeof value === 'object' && value.name === 'now' ? null : taken[at]));
  const readOnce = () => (isShared ? followers.readOf(object, [text, asked()], readRows) : readRows());
  const found = text === '' ? [[]] : await readOnce();
  if (found.length < count) {
    const most = MOST_BYTES.toLocaleString('en');
    throw new CostExceeded(`The answer holds more than ${most} bytes: ask for less at a time.`);
  }
  const reads = given.slice();
  for (const { read, path, column } of checks) {
    const lost = found.some((row) => row[column] === 'false');
    const order = plan.fields[read]?.of().order;
    if (lost && order?.lost) reads[read] = order.lost(path);
  }
  return found.map((row) => ({
    texts: plan.parts.map(([, part], at) => row[columns[at] ?? -1] ?? rowlessPartJson(ctx, part)),
    reads,
  }));
}

/** The JSON of a part for which no row is read; null for others. */
export function rowlessPartJson({ services }: Context, part: AnswerPart): string | null {
  if (part.kind === 'text') return part.text;
  if (part.kind !== 'manufacturer' || part.field.slug !== undefined) return null;
  return `[${services.manufacturers.list().map((one) => objectJson(part.members, one))}]`;
}

/** Statements by their plan and the shapes of their arguments; the least recently used are dropped. */
const statements = new LRUCache<string, Statement>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ text }) => text.length + 1,
});

function statementOf(ctx: Context, plan: ReadPlan, given: ArgumentList, rows: ParentRows | null): Statement {
  const hidden = plan.fields.map((field) => hidesRows(ctx, field.of()));
  const key = `${plan.id} ${hidden}${given.map((read) => (read instanceof Error ? '!' : read.shape))}`;
  const known = statements.get(key);
  if (known?.manufacturers === ctx.services.manufacturers) return known;
  const written = write(ctx, plan, given, rows);
  statements.set(key, written);
  return written;
}

function write(ctx: Context, plan: ReadPlan, given: ArgumentList, rows: ParentRows | null): Statement {
  const good = given.map((read) => (read instanceof Error ? null : read));
  const writer = new AnswerSqlWriter(ctx, good, { ofRows: rows !== null });
  const selected: string[] = [];
  const select = (sql: string): number => selected.push(`${sql} as f${selected.length}`) - 1;
  const columns = plan.parts.map(([, part]) =>
    rowlessPartJson(ctx, part) === null ? select(writer.part(part)) : undefined,
  );
  const checks = writer.checks.map(({ sql, ...check }) => ({ ...check, column: select(`(${sql})::text`) }));
  const parts = { columns, checks, manufacturers: ctx.services.manufacturers };
  if (selected.length === 0) return { text: '', values: [], ...parts };
  const { text, names } = numberParameters(boundedRows(selected, rows));
  const values = names.map((name) => {
    const [, kind, at = '', own = ''] = /^([an])(\d+)(?:_(\w+))?$/.exec(name) ?? [];
    if (kind === 'n') return writer.names[Number(at)] ?? '';
    return kind === 'a' ? { read: Number(at), name: own } : { read: -1, name };
  });
  return { text, values, ...parts };
}

/** A statement whose rows end before their columns hold more than MOST_BYTES: the gateway would keep them all. */
function boundedRows(selected: readonly string[], rows: ParentRows | null): string {
  const columns = selected.map((_, at) => `f${at}`);
  const bytes = columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
  // `offset` has each column computed once.
  if (!rows) return `select * from (select ${selected.join(', ')} offset 0) t where ${bytes} <= ${MOST_BYTES}`;
  const { alias, columns: parents, lookups } = rows;
  const names = Object.keys(parents);
  const unnested = `unnest(${names.map((name) => `$${name}::uuid[]`).join(', ')})`;
  const from = `${unnested} with ordinality ${alias}(${names.join(', ')}, n) ${mentionedJoins(lookups, `${selected}`).join(' ')}`;
  const read = `select ${alias}.n, ${selected.join(', ')} from ${from} offset 0`;
  const summed = `select *, sum(${bytes}) over (order by n) as bytes from (${read}) t`;
  return `select ${columns.join(', ')} from (${summed}) t where bytes <= ${MOST_BYTES} order by n`;
}

/** A number of parents, and how often the same parent may be among them. */
type Parents = { count: number; repeats: number };

/** Rows that an answer may look at: a number, and all rows of the company of a resource a number of times. */
type RowCounts = { rows: number; all: Map<Resource, number> };

function addTotals(totals: RowCounts, members: AnswerMembers, given: ArgumentList, parents: Parents): void {
  for (const [, part] of members) {
    if (part.kind === 'list') addList(totals, part, given, parents);
    // Many vehicles may have one fleet.
    else if (part.kind === 'one') addTotals(totals, part.members, given, { ...parents, repeats: parents.count });
    else if (part.kind === 'rows') totals.rows += parents.count * (part.field.most ?? 1);
    else if ('members' in part) addTotals(totals, part.members, given, parents);
  }
}

/** Counts that are not stored look at all rows, and so may a filter without an index in the list's order. */
function addList(totals: RowCounts, part: ListAnswerPart, given: ArgumentList, { count, repeats }: Parents): void {
  const read = given[part.read];
  if (!read || read instanceof Error) return;
  const { short, indexed = [], storedCount } = part.field;
  const has = (...kinds: AnswerPart['kind'][]) => part.members.some(([, { kind }]) => kinds.includes(kind));
  const isPage = has('items', 'object');
  const counts = has('count') && !short && !(storedCount && read.names.every((name) => name in storedCount.conditions));
  const isFiltered = read.names.length > 1 || read.names.some((name) => !indexed.includes(name));
  const seeks = isPage && isFiltered && !short;
  const items = isPage ? count * (read.page?.limit ?? 0) : 0;
  const of = part.field.of();
  if (counts || seeks) totals.all.set(of, (totals.all.get(of) ?? 0) + repeats * (Number(counts) + Number(seeks)));
  totals.rows += (counts ? 0 : count) + items;
  addTotals(totals, part.members, given, { count: items, repeats });
}

const total = ({ rows, all }: RowCounts, sizeOf: (of: Resource) => number): number =>
  all.entries().reduce((sum, [of, times]) => sum + times * sizeOf(of), rows);

/** Looking at this many rows costs as much as one object in the answer. */
const ROWS_PER_OBJECT = 20;

/** The rows that the parts can be expected to look at; throws CostExceeded if they can look at too many of this company. */
async function estimateRowsRead(ctx: Context, parts: AnswerMembers, given: ArgumentList, count: number) {
  const totals: RowCounts = { rows: 0, all: new Map() };
  addTotals(totals, parts, given, { count, repeats: 1 });
  const expected = total(totals, ({ expected = MOST_COUNTED_ROWS }) => expected);
  const most = ctx.services.config.LIMIT_GRAPHQL_COST * ROWS_PER_OBJECT;
  if (total(totals, () => MOST_COUNTED_ROWS) <= most) return expected;
  const sizes = new Map(await Promise.all(totals.all.keys().map(async (of) => [of, await sizeOf(ctx, of)] as const)));
  const rows = total(totals, (of) => sizes.get(of) ?? 0);
  if (rows <= most) return rows;
  throw new CostExceeded(
    `Filters and counts look at up to ${most.toLocaleString('en')} rows, here at up to ${rows.toLocaleString('en')}: ` +
      'ask for fewer parents, or leave out the counts or filters below them.',
  );
}

/** The number of the company's rows, counted up to MOST_COUNTED_ROWS. */
async function sizeOf(ctx: Context, { table, id }: Resource): Promise<number> {
  const company = `${id.split('.')[0]}.company`;
  const text = `select count(*)::text from (select from ${table} where ${company} = $1 limit ${MOST_COUNTED_ROWS}) n`;
  const [row] = await search(ctx, text, [requireCaller(ctx).company]);
  return Number(row?.[0]);
}
