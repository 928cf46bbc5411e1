import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Context, Scope } from '../core/context.ts';
import { type ErrorCode, ValidationFailed } from '../core/errors.ts';
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
import type { HeaderName, Json } from './openapi/json-schema.ts';
import { type PathParameter, type QueryParameter, queryParameters, type Tag } from './openapi/parameters.ts';

/** A request as a handler gets it: parsed, not yet validated. */
export interface RestRequest {
  route: Route;
  path: string;
  /** The path below which a proxy shows the service; addresses in bodies begin with it. */
  basePath(): string;
  params: Readonly<Record<PathParameter, string>>;
  query: Readonly<Record<string, unknown>>;
  /** The parsed JSON body, where the route takes one. */
  body: unknown;
  /** Aborts when the client disconnects or has its answer. */
  left(): AbortSignal;
  /** Like `left`; also aborts when the token expires, `longestMs` have passed, or the process is to end. */
  closed(longestMs?: number): AbortSignal;
  incoming: IncomingMessage;
  header(name: string): string | undefined;
  /** The media type among these that the client prefers; the first without a preference. */
  accepts<Type extends string>(types: readonly [Type, ...Type[]]): Type;
}

export const membersOf = ({ body }: RestRequest): object =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};

/** The answer: a value to send as JSON, or pieces of text to stream. */
export interface Answer {
  /** By default the first of the route's `answers`. */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** A body that is text already: JSON, unless a header says otherwise. */
  text?: string;
  stream?: { type: string; pieces: AsyncIterable<string> | Iterable<string> };
}

/** An operation: its handler, and its description in openapi.json. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path in Express's notation: `/fleets/:fleetId`. */
  path: string;
  /** The scope that the token needs, where scopes are in use; core checks others. */
  scope: Scope;
  /** `optional` where contracts may be open to callers without a token; core decides. */
  token?: 'optional';
  /** The permanent name, by which generated clients call their function. */
  operationId: string;
  tag: Tag;
  /** A few words, without a full stop. */
  summary: string;
  /** Whole sentences: what happens, and what a caller would not guess. */
  description: string;
  query?: readonly QueryParameter[];
  /** The schema of these parameters, without those of every list. */
  parameters: z.ZodObject;
  /** The resource has an `ETag`, a hash of `body`, for `If-None-Match` and `If-Match`. */
  etag?: true;
  prefer?: true;
  /** The schema of the JSON body; for an upload, of its form. */
  body?: z.ZodObject;
  /** An upload, whose handler reads the body: media types of a file as the body, with an example of text. */
  files?: Readonly<Record<string, string | null>>;
  /** Answers by status, without errors. */
  answers: Readonly<Record<number, AnswerDocs>>;
  /** Errors beside those of all operations of its kind. */
  errors?: readonly ErrorCode[];
  answer(ctx: Context, request: RestRequest): Promise<Answer>;
}

export interface AnswerDocs {
  description: string;
  schema?: z.ZodType;
  type?: 'application/json' | 'text/csv' | 'text/event-stream';
  files?: Readonly<Record<string, z.ZodType>>;
  headers?: readonly HeaderName[];
}

type Operation = Omit<Route, 'method' | 'path' | 'operationId' | 'parameters' | 'scope' | 'tag' | 'token'> & {
  tag?: Tag;
};

/** Makes the routes of one group by method: GET needs the scope to read, the others need the scope to write. */
export function operations(tag: Tag, group: { scopes?: 'contracts'; token?: 'optional' } = {}) {
  const { scopes = 'fleets', ...common } = group;
  const by = (method: Route['method']) => {
    const scope = `${scopes}:${method === 'GET' ? 'read' : 'write'}` as const;
    return (path: string, operationId: string, operation: Operation): Route => ({
      ...{ method, path, operationId, tag, scope, parameters: parametersOf(operation.query) },
      ...common,
      ...operation,
    });
  };
  return { get: by('GET'), post: by('POST'), patch: by('PATCH'), remove: by('DELETE') };
}

/** An optional parameter of the query that may not be repeated. */
export const once = z.string('must stand once').optional();
/** The values of a parameter that are separated by commas. */
export const splitCommas = (list: unknown) =>
  typeof list === 'string' ? list.split(',').map((one) => one.trim()) : list;
const commaList = once.transform(splitCommas);

const LIST_PARAMETERS = ['limit', 'after', 'sort'];

function parametersOf(names: readonly QueryParameter[] = []): z.ZodObject {
  const all = names.map((name): Json => queryParameters[name]);
  const own = all.filter(({ name }) => !LIST_PARAMETERS.includes(`${name}`));
  return z.object(Object.fromEntries(own.map(({ name, explode }) => [name, explode === false ? commaList : once])));
}

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

export type PageReader = (page: PageArguments) => Promise<TextPage>;

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
  const first = paged ? (limit ?? DEFAULT_PAGE_SIZE) : STREAM_PAGE;
  const page = readPageArguments({ first, after, orderBy }, orders);
  const linkTo = (last: ListPosition): Record<string, string> => {
    const kept = [...Object.keys(route.parameters.shape), ...(orderBy ? ['sort'] : [])];
    const given = kept.flatMap((name) => (typeof query[name] === 'string' ? [[name, query[name]]] : []));
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

/** Rows of a page of a whole list: few, since others' requests wait while Node writes a page. */
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
