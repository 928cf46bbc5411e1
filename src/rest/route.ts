import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Context } from '../core/context.ts';
import { readInput } from '../core/input.ts';
import { cursorOf, PAGE_DEFAULT, PAGE_MAX, type Page, readPage, type Slice } from '../core/page.ts';

/** A request as a handler sees it: read, but not yet judged. */
export interface RestRequest {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  /** The parsed JSON body, where the route takes one. */
  body: unknown;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
  /** Where to read an upload from. */
  incoming: IncomingMessage;
  header(name: string): string | undefined;
}

/** What goes back: a value to be sent as JSON, or pieces of text to be streamed. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  stream?: { type: string; pieces: AsyncIterable<string> };
}

export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** As Express writes it: `/fleets/:fleetId`. */
  path: string;
  /** `json` reads a JSON body; `upload` leaves the body to the handler, and repeated uploads too. */
  body?: 'json' | 'upload';
  /** `optional` where contracts may be open to callers without a token; core decides. `none` asks nobody. */
  token?: 'optional' | 'none';
  answer(ctx: Context, request: RestRequest): Promise<Answer>;
}

const listQuery = z.object({
  limit: z
    .string()
    .regex(/^\d{1,4}$/, 'is a whole number')
    .transform(Number)
    .optional(),
  after: z.string('stands once').optional(),
});

/** The page that `?limit=…&after=…` asks for; null when neither is there, for the whole list. */
export function readListQuery(query: Readonly<Record<string, unknown>>): Page | null {
  const { limit, after } = readInput(listQuery, query);
  if (limit === undefined && after === undefined) return null;
  return readPage({ first: limit ?? PAGE_DEFAULT, after });
}

/** A page as a JSON array, with the way to the next one in `Link`. */
export function pageAnswer<T extends { id: string }>(
  slice: Slice<T>,
  page: Page,
  path: string,
  shape: (item: T) => unknown,
): Answer {
  const last = slice.items.at(-1);
  const body = slice.items.map(shape);
  if (!slice.hasNext || !last) return { status: 200, body };
  const next = `${path}${path.includes('?') ? '&' : '?'}limit=${page.limit}&after=${cursorOf(last.id)}`;
  return { status: 200, headers: { Link: `<${next}>; rel="next"` }, body };
}

/**
 * A whole list as a JSON array that is sent while it is read, in constant memory. What goes wrong with the first page
 * is still an error answer.
 */
export async function listAnswer<T extends { id: string }>(
  read: (page: Page) => Promise<Slice<T>>,
  shape: (item: T) => unknown,
): Promise<Answer> {
  const first = await read(readPage({ first: PAGE_MAX }));
  return { status: 200, stream: { type: 'application/json', pieces: arrayOf(first, read, shape) } };
}

async function* arrayOf<T extends { id: string }>(
  first: Slice<T>,
  read: (page: Page) => Promise<Slice<T>>,
  shape: (item: T) => unknown,
) {
  let slice = first;
  let opening = '[';
  for (;;) {
    const items = slice.items.map((item) => JSON.stringify(shape(item))).join(',');
    if (items) {
      yield `${opening}${items}`;
      opening = ',';
    }
    const last = slice.items.at(-1);
    if (!slice.hasNext || !last) break;
    slice = await read({ limit: PAGE_MAX, after: last.id, before: null, backward: false });
  }
  yield opening === '[' ? '[]' : ']';
}

const flag = z.enum(['true', 'false'], 'is true or false').transform((value) => value === 'true');
const addQuery = z.object({ mode: z.string('stands once').optional(), dryRun: flag.optional() });

/** `?mode=…&dryRun=…` of the endpoints that add vehicles. */
export const readAddQuery = (query: Readonly<Record<string, unknown>>) => readInput(addQuery, query);
