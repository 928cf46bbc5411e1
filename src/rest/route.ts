import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Context, Scope } from '../core/context.ts';
import { type ErrorCode, ValidationFailed } from '../core/errors.ts';
import { readInput } from '../core/input.ts';
import { type ListPosition, type Order, type Orders, sortsOf } from '../core/sql/order.ts';
import { cursorOf, PAGE_DEFAULT, PAGE_MAX, type Page, pageSize, readPage } from '../core/sql/page.ts';
import type { Slice, TextPage } from '../core/sql/read.ts';
import type { HeaderName } from './openapi/json-schema.ts';
import type { PathParameter, QueryParameter } from './openapi/parameters.ts';
import type { Tag } from './openapi/tags.ts';

/** A request as a handler sees it: read, but not yet judged. */
export interface RestRequest {
  /** The address without its query. */
  path: string;
  /** The parameters in the route's path. */
  params: Readonly<Record<PathParameter, string>>;
  query: Readonly<Record<string, unknown>>;
  /** The parsed JSON body, where the route takes one. */
  body: unknown;
  /** Aborts when the client has gone or has its answer. */
  left(): AbortSignal;
  /** Aborts when the client has gone or has its answer, its token expires, `longestMs` have passed, or the process is to end. */
  closed(longestMs?: number): AbortSignal;
  /** The stream of an upload's body. */
  incoming: IncomingMessage;
  header(name: string): string | undefined;
  /** The media type among these that the client likes best; the first where it has no preference. */
  accepts<Type extends string>(types: readonly [Type, ...Type[]]): Type;
}

/** The members of a body, where it is an object; of a list there are none, however long it is. */
export const membersOf = ({ body }: RestRequest): object =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};

/** The answer: a value to send as JSON, or pieces of text to stream. */
export interface Answer {
  /** Where it is missing, the first of the route's `answers`. */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** A body that is text already: JSON, unless a header says otherwise. */
  text?: string;
  stream?: { type: string; pieces: AsyncIterable<string> | Iterable<string> };
}

/** An operation: what answers it, and what openapi.json says of it beyond what follows from the rest. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path in Express's notation: `/fleets/:fleetId`. */
  path: string;
  /** The scope that the token needs, where scopes are in use; core checks for more where a request needs more. */
  scope: Scope;
  /** `optional` where contracts may be open to callers without a token; core decides. */
  token?: 'optional';
  /** Names the operation for good: generated clients call their function so. */
  operationId: string;
  tag: Tag;
  /** A few words, without a full stop. */
  summary: string;
  /** Whole sentences: what happens, and what a caller would not guess. */
  description: string;
  query?: readonly QueryParameter[];
  /** Whether what it shows or changes has an `ETag`, a hash of `body`, which `If-None-Match` or `If-Match` may name. */
  etag?: true;
  /** Whether `Prefer: wait=N` is heard. */
  prefer?: true;
  /** The schema that core reads the JSON body with; of an upload, its form. */
  body?: z.ZodObject;
  /**
   * Of an upload, whose body is left to the handler, and repeated uploads too: media types of a body that is the file itself,
   * with an example of what is text.
   */
  files?: Readonly<Record<string, string | null>>;
  /** Answers by status, without errors. */
  answers: Readonly<Record<number, AnswerDocs>>;
  /** Errors of this operation; those of all operations of its kind are added. */
  errors?: readonly ErrorCode[];
  answer(ctx: Context, request: RestRequest): Promise<Answer>;
}

export interface AnswerDocs {
  description: string;
  /** Absent: the answer has no body. */
  schema?: z.ZodType;
  type?: 'application/json' | 'text/csv' | 'text/event-stream';
  /** Alternative forms of the body, by media type. */
  files?: Readonly<Record<string, z.ZodType>>;
  headers?: readonly HeaderName[];
}

const routeBy =
  (method: Route['method']) =>
  (path: string, route: Omit<Route, 'method' | 'path'>): Route => ({ method, path, ...route });

export const get = routeBy('GET');
export const post = routeBy('POST');
export const patch = routeBy('PATCH');
export const remove = routeBy('DELETE');

/** A parameter of the query that stands there once, if at all. */
export const once = z.string('stands once').optional();
/** A parameter given once, with values separated by commas. */
export const commaList = once.transform((list) => list?.split(',').map((one) => one.trim()));

/** A whole number in the query. */
export const digits = z
  .string()
  .regex(/^\d+$/, 'is a whole number')
  // Any larger number is just as invalid as PAGE_MAX + 1, and some would be none in JavaScript.
  .transform((text) => Math.min(Number(text), PAGE_MAX + 1));

const listQuery = z.object({ limit: digits.pipe(pageSize).optional(), after: once });

/** A page for listAnswer of items that core gave as such. */
export const jsonPageOf = <T>({ items, ...page }: Slice<T>, shape: (item: T) => unknown): TextPage => ({
  ...page,
  text: JSON.stringify(items.map(shape)),
});

/** Reads a page of some list as JSON. */
type ReadPage = (page: Page) => Promise<TextPage>;

/** What a list is asked for by, beside `limit` and `after`. */
interface ListQuery {
  filter?: z.ZodObject;
  orders?: Orders;
}

/**
 * A list as the request wants it: a page, with the way to the next one in `Link`, or the whole of it, sent while it is
 * read. What goes wrong with the first page is still an error answer.
 */
export async function listAnswer(request: RestRequest, read: ReadPage, list: ListQuery = {}): Promise<Answer> {
  const { page, paged, linkTo } = readListQuery(request, list);
  const first = await read(page);
  const { text, last, hasNext } = first;
  if (!hasNext || last === null) return { text };
  if (paged) return { headers: linkTo(last), text };
  return { stream: { type: 'application/json', pieces: wholeList(first, page.order, read) } };
}

/** The page that is asked for, whether it is one at all or the whole list, and the header that leads to the next one. */
export function readListQuery({ path, query }: RestRequest, { filter, orders = {} }: ListQuery) {
  const { limit, after } = readInput(listQuery, query);
  const orderBy = readSort(query, orders);
  const paged = limit !== undefined || after !== undefined;
  const page = readPage({ first: paged ? (limit ?? PAGE_DEFAULT) : PAGE_MAX, after, orderBy }, orders);
  const linkTo = (last: ListPosition): Record<string, string> => {
    const kept = [...Object.keys(filter?.shape ?? {}), ...(orderBy ? ['sort'] : [])];
    const given = kept.flatMap((name) => (typeof query[name] === 'string' ? [[name, query[name]]] : []));
    const next = [...given, ['limit', String(page.limit)], ['after', cursorOf(last, page.order)]];
    return { Link: `<${path}?${new URLSearchParams(next)}>; rel="next"` };
  };
  return { page, paged, linkTo };
}

/** `?sort=…` as readPage takes it; a list without orders has none. */
function readSort({ sort }: RestRequest['query'], orders: Orders) {
  if (sort === undefined) return undefined;
  const sorts = sortsOf(orders);
  const names = Object.keys(sorts);
  if (names.length === 0) return undefined;
  if (typeof sort === 'string' && Object.hasOwn(sorts, sort)) return sorts[sort];
  throw new ValidationFailed([{ path: 'sort', code: 'INVALID_VALUE', message: `is one of ${names.join(', ')}` }]);
}

/** Rows read at a time for a whole list: enough to keep the database busy. */
export const STREAM_PAGE = 500;

async function* wholeList(first: TextPage, order: Order, read: ReadPage): AsyncGenerator<string> {
  let before = '[';
  for await (const { text, last } of pagesFrom(first, order, read)) {
    yield before;
    if (last !== null) yield inner(text);
    before = ',';
  }
  yield ']';
}

/** The items of a JSON array, without its brackets. */
const inner = (text: string): string => text.slice(1, -1);

/** Pages, one read ahead while another is sent: constant memory, and no transaction held for a slow reader. */
export async function* pagesFrom<P extends Pick<TextPage, 'last' | 'hasNext'>>(
  first: P,
  order: Order,
  read: (page: Page) => Promise<P>,
): AsyncGenerator<P, void> {
  const readAfter = (after: ListPosition) => {
    const page = read({ limit: STREAM_PAGE, order, after, before: null, backward: false });
    page.catch(() => {}); // A reader that leaves does not wait for it; one that stays is told below.
    return page;
  };
  for (let page: P | null = first; page; ) {
    const ahead: Promise<P> | null = page.hasNext && page.last !== null ? readAfter(page.last) : null;
    yield page;
    page = await ahead;
  }
}

/** Items read first, when nobody knows yet how large they are; and how much text is aimed at after that. */
const FIRST_STEP = 50;
const STEP_LENGTH = 1024 * 1024;
/** A page whose text is as long ends there, and the next one goes on. */
const PAGE_LENGTH = 8 * 1024 * 1024;

/** Reads pages of items that may be large in steps, so that no page is made in one go; those of large ones have fewer. */
export const inSteps =
  (read: ReadPage): ReadPage =>
  async (page) => {
    const texts: string[] = [];
    let last: ListPosition | null = null;
    let left = page.limit;
    let length = 0;
    for (let size = FIRST_STEP; ; ) {
      const limit = Math.min(size, left);
      const step = await read({ ...page, limit, after: last ?? page.after });
      length += step.text.length;
      left -= limit;
      if (step.last !== null) {
        texts.push(inner(step.text));
        last = step.last;
      }
      const full = left === 0 || length >= PAGE_LENGTH;
      if (full || !step.hasNext) return { text: `[${texts.join()}]`, last, hasNext: step.hasNext };
      size = Math.max(1, Math.ceil(STEP_LENGTH / (step.text.length / limit)));
    }
  };

const flag = z.enum(['true', 'false'], 'is true or false').transform((value) => value === 'true');
const addQuery = z.object({ mode: once, dryRun: flag.optional() });

/** `?mode=…&dryRun=…` of the endpoints that add vehicles. */
export const readAddQuery = (query: Readonly<Record<string, unknown>>) => readInput(addQuery, query);
