import { type Context, requireCaller } from '../context.ts';
import { read } from '../database.ts';
import { CostExceeded } from '../errors.ts';
import type { AnswerMembers, AnswerPart, ArgumentList, ListAnswerPart } from './json-parts.ts';
import { MOST_COUNTED_ROWS } from './page.ts';
import type { Resource } from './resource.ts';

/** A number of parents, and how often the same parent may be among them. */
type Parents = { count: number; repeats: number };

/** Rows that an answer may look at: a number, and all rows of the company of a resource a number of times. */
type RowCounts = { rows: number; all: Map<Resource, number> };

function addLooks(looks: RowCounts, members: AnswerMembers, given: ArgumentList, parents: Parents): void {
  for (const [, part] of members) {
    if (part.kind === 'list') addList(looks, part, given, parents);
    // Many vehicles may have one fleet.
    else if (part.kind === 'one') addLooks(looks, part.members, given, { ...parents, repeats: parents.count });
    else if (part.kind === 'rows') looks.rows += parents.count * (part.field.most ?? 1);
    else if ('members' in part) addLooks(looks, part.members, given, parents);
  }
}

/** Counts that are not stored look at all rows, and so may a filter without an index in the list's order. */
function addList(looks: RowCounts, part: ListAnswerPart, given: ArgumentList, { count, repeats }: Parents): void {
  const read = given[part.read];
  if (!read || read instanceof Error) return;
  const { few, indexed = [], kept } = part.field;
  const has = (...kinds: AnswerPart['kind'][]) => part.members.some(([, { kind }]) => kinds.includes(kind));
  const isPage = has('items', 'object');
  const counts = has('count') && !few && !(kept && read.names.every((name) => name in kept.conditions));
  const isIndexed =
    few || read.names.length === 0 || (read.names.length === 1 && indexed.includes(read.names[0] ?? ''));
  const seeks = isPage && !isIndexed;
  const items = isPage ? count * (read.page?.limit ?? 0) : 0;
  const of = part.field.of();
  if (counts || seeks) looks.all.set(of, (looks.all.get(of) ?? 0) + repeats * (Number(counts) + Number(seeks)));
  looks.rows += (counts ? 0 : count) + items;
  addLooks(looks, part.members, given, { count: items, repeats });
}

const total = ({ rows, all }: RowCounts, sizeOf: (of: Resource) => number): number =>
  all.entries().reduce((sum, [of, times]) => sum + times * sizeOf(of), rows);

/** Looking at this many rows costs as much as one object in the answer. */
const LOOKS_PER_OBJECT = 20;

/** The rows that the parts can be expected to look at; throws CostExceeded if they can look at too many of this company. */
export async function estimateRowsRead(ctx: Context, parts: AnswerMembers, given: ArgumentList, count: number) {
  const looks: RowCounts = { rows: 0, all: new Map() };
  addLooks(looks, parts, given, { count, repeats: 1 });
  const expected = total(looks, ({ expected = MOST_COUNTED_ROWS }) => expected);
  const most = ctx.services.config.LIMIT_GRAPHQL_COST * LOOKS_PER_OBJECT;
  if (total(looks, () => MOST_COUNTED_ROWS) <= most) return expected;
  const sizes = new Map(await Promise.all(looks.all.keys().map(async (of) => [of, await sizeOf(ctx, of)] as const)));
  const rows = total(looks, (of) => sizes.get(of) ?? 0);
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
  const [row] = await read(ctx, text, [requireCaller(ctx).company], { long: true });
  return Number(row?.[0]);
}
