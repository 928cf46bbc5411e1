import { z } from 'zod';
import { LARGE_ROWS } from '../core/database.ts';
import { ValidationFailed } from '../core/errors.ts';
import { readInput } from '../core/input.ts';
import { type ListPosition, restSortsOf, type SortOrder, type SortOrders } from '../core/sql/order.ts';
import {
  cursorOf,
  DEFAULT_PAGE_SIZE,
  MAX_PAGE_SIZE,
  type PageArguments,
  pageSizeSchema,
  readPageArguments,
} from '../core/sql/page.ts';
import type { ItemsPage, TextPage } from '../core/sql/read.ts';
import { type Answer, once, type RestRequest, type Route } from './route.ts';

/** The parameters that the route names, without those of every list: filters, which core validates. */
export const readQuery = ({ route, query }: RestRequest) => readInput(route.parameters, query);

/** The answers of a list. */
export const listOf = (description: string, schema: z.ZodType) =>
  ({ 200: { description, schema: z.array(schema), headers: ['Link'] } }) satisfies Route['answers'];

export const digits = z
  .string('must stand once')
  .regex(/^\d+$/, 'must be a whole number')
  // Larger numbers are just as invalid, and some exceed JavaScript's.
  .transform((text) => Math.min(Number(text), MAX_PAGE_SIZE + 1));

const listQuery = z.object({ limit: digits.pipe(pageSizeSchema).optional(), after: once });

type PageReader = (page: PageArguments) => Promise<TextPage>;

/** A page, with the next one in `Link`, or the whole list as a stream. */
export async function listAnswer(request: RestRequest, read: PageReader, orders?: SortOrders): Promise<Answer> {
  const { page, paged, linkTo } = readListQuery(request, orders);
  const first = await read(page);
  const { text, last, hasNext } = first;
  if (!hasNext || last === null) return { text };
  if (paged) return { headers: linkTo(last), text };
  return { stream: { type: 'application/json', pieces: wholeList(first, page.order, read) } };
}

/** The page, whether the request wants one or the whole list, and the header that leads to the next one. */
export function readListQuery({ route, path, query }: RestRequest, orders: SortOrders = {}) {
  const { limit, after } = readInput(listQuery, query);
  const orderBy = readSort(query, orders);
  const paged = limit !== undefined || after !== undefined;
  const first = paged ? (limit ?? DEFAULT_PAGE_SIZE) : LARGE_ROWS;
  const page = readPageArguments({ first, after, orderBy }, orders);
  const linkTo = (last: ListPosition): Record<string, string> => {
    const names = [...Object.keys(route.parameters.shape), ...(orderBy ? ['sort'] : [])];
    const given = names.flatMap((name) => [query[name] ?? []].flat().map((value) => [name, String(value)]));
    const next = [...given, ['limit', String(page.limit)], ['after', cursorOf(last, page.order)]];
    return { Link: `<${path}?${new URLSearchParams(next)}>; rel="next"` };
  };
  return { page, paged, linkTo };
}

/** `?sort=…` as readPageArguments takes it; a list without orders has none. */
function readSort({ sort }: RestRequest['query'], orders: SortOrders) {
  const sorts = sort === undefined ? {} : restSortsOf(orders);
  const names = Object.keys(sorts).join(', ');
  if (!names) return undefined;
  if (typeof sort === 'string' && Object.hasOwn(sorts, sort)) return sorts[sort];
  throw new ValidationFailed([
    { path: 'sort', code: 'INVALID_VALUE', message: `must be one of ${names}, not "${sort}"` },
  ]);
}

/**
 * Rows of a further page of a whole list: few, since others' requests wait while Node writes a page. The first page is not large (LARGE_ROWS):
 * most lists have no other, and would wait for a turn in vain.
 */
const STREAM_PAGE = 250;

async function* wholeList(first: TextPage, order: SortOrder, read: PageReader): AsyncGenerator<string> {
  let before = '[';
  for await (const { text, last } of pagesFrom(first, order, read)) {
    // Rows behind the last page may have gone meanwhile.
    if (last !== null) yield before + inner(text);
    before = ',';
  }
  yield ']';
}

const inner = (text: string): string => text.slice(1, -1);

/** Pages, one read ahead while another is sent: constant memory, and no transaction held for a slow reader. */
export async function* pagesFrom(first: TextPage, order: SortOrder, read: PageReader): AsyncGenerator<TextPage, void> {
  const readAfter = (after: PageArguments['after']) => {
    const page = read({ limit: STREAM_PAGE, order, after, before: null, backward: false });
    page.catch(() => {}); // A reader that stays awaits it below and gets the error.
    return page;
  };
  for (let page: TextPage | null = first; page; ) {
    const ahead: Promise<TextPage> | null = page.hasNext && page.last !== null ? readAfter(page.last) : null;
    yield page;
    page = await ahead;
  }
}

/** Items of the first step, whose size is unknown, and the length of text aimed at by later steps. */
const FIRST_STEP = 50;
const STEP_LENGTH = 1024 * 1024;
/** A page ends early at this length of text. */
const PAGE_LENGTH = 8 * 1024 * 1024;

/** Reads pages of items that may be large in steps, and writes them as JSON; pages of large items have fewer. */
export const inSteps =
  <T>(read: (page: PageArguments) => Promise<ItemsPage<T>>, shape: (item: T) => unknown): PageReader =>
  async (page) => {
    const texts: string[] = [];
    let last: ListPosition | null = null;
    let left = page.limit;
    let length = 0;
    for (let size = FIRST_STEP; ; ) {
      const limit = Math.min(size, left);
      const step = await read({ ...page, limit, after: last ?? page.after });
      const text = JSON.stringify(step.items.map(shape));
      length += text.length;
      left -= limit;
      if (step.last !== null) {
        texts.push(inner(text));
        last = step.last;
      }
      const full = left === 0 || length >= PAGE_LENGTH;
      if (full || !step.hasNext) return { text: `[${texts.join()}]`, last, hasNext: step.hasNext };
      size = Math.max(1, Math.ceil(STEP_LENGTH / (text.length / limit)));
    }
  };
