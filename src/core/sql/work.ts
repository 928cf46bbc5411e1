import { type Context, callerOf } from '../context.ts';
import { CostExceeded } from '../errors.ts';
import type { ListPart, Members, Part, Read } from './json-parts.ts';
import { COUNTED_MOST } from './page-size.ts';
import type { Resource } from './resource.ts';
import { readRows } from './send.ts';

/** The arguments of the fields, or what is wrong with them. */
type Given = readonly (Read | Error)[];
type SizeOf = (of: Resource) => number;

/** A number of parents, and how often the same parent may be among them. */
interface Parents {
  count: number;
  repeats: number;
}

/** How many rows parts may look at below these parents; `sizeOf` is how many rows of a resource the company has. */
function rowsIn(members: Members, given: Given, parents: Parents, sizeOf: SizeOf): number {
  let rows = 0;
  for (const [, part] of members) {
    if (part.kind === 'list') rows += rowsOfList(part, given, parents, sizeOf);
    // Many vehicles may have one fleet.
    else if (part.kind === 'one') rows += rowsIn(part.members, given, { ...parents, repeats: parents.count }, sizeOf);
    else if ('members' in part) rows += rowsIn(part.members, given, parents, sizeOf);
  }
  return rows;
}

/**
 * Counts that are not kept look at all rows, and so may a filter in another order than an index has. Together, parents have no
 * more rows than the company.
 */
function rowsOfList(part: ListPart, given: Given, parents: Parents, sizeOf: SizeOf): number {
  const read = given[part.read];
  if (!read || read instanceof Error) return 0;
  const { count, repeats } = parents;
  const { few, indexed = [], kept } = part.field;
  const has = (...kinds: Part['kind'][]) => part.members.some(([, { kind }]) => kinds.includes(kind));
  const isPage = has('items', 'object');
  const counts = has('count') && !few && !(kept && read.names.every((name) => name in kept.conditions));
  const isIndexed =
    few || read.names.length === 0 || (read.names.length === 1 && indexed.includes(read.names[0] ?? ''));
  const seeks = isPage && !isIndexed;
  const all = counts || seeks ? repeats * sizeOf(part.field.of()) : 0;
  const items = isPage ? count * (read.page?.limit ?? 0) : 0;
  const below = rowsIn(part.members, given, { count: items, repeats }, sizeOf);
  return (counts ? all : count) + (seeks ? all : 0) + items + below;
}

/** How many rows the parts may look at below so many objects, in a company that has as many of each as are counted. */
export const rowsLookedAt = (parts: Members, given: Given, count: number): number =>
  rowsIn(parts, given, { count, repeats: 1 }, () => COUNTED_MOST);

/** Looking at this many rows costs as much as one object in the answer. */
const LOOKS_PER_OBJECT = 20;
export const mostLooks = ({ services }: Context) => services.config.LIMIT_GRAPHQL_COST * LOOKS_PER_OBJECT;

/** Throws CostExceeded where too many rows would be looked at for filters and counts, by what the company really has. */
export async function needFewerRows(ctx: Context, parts: Members, given: Given, count: number): Promise<void> {
  const parents = { count, repeats: 1 };
  const asked = new Set<Resource>();
  const noted = (of: Resource) => {
    asked.add(of);
    return 0;
  };
  rowsIn(parts, given, parents, noted);
  const sizes = new Map(await Promise.all([...asked].map(async (of) => [of, await sizeOf(ctx, of)] as const)));
  const rows = rowsIn(parts, given, parents, (of) => sizes.get(of) ?? 0);
  const most = mostLooks(ctx);
  if (rows <= most) return;
  throw new CostExceeded(
    `Filters and counts look at up to ${most.toLocaleString('en')} rows, here at up to ${rows.toLocaleString('en')}: ` +
      'ask for fewer parents, or leave out the counts or filters below them.',
  );
}

/** The number of the company's rows, counted up to COUNTED_MOST. */
async function sizeOf(ctx: Context, { table, id }: Resource): Promise<number> {
  const company = `${id.split('.')[0]}.company`;
  const text = `select count(*)::text from (select from ${table} where ${company} = $1 limit ${COUNTED_MOST}) n`;
  const [row] = await readRows(ctx, text, [callerOf(ctx).company], { long: true });
  return Number(row?.[0]);
}
