import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';

/** What a manufacturer's server answers; without a body, the answer is empty. */
export type Answer = [status: number, body?: unknown, headers?: Record<string, string>];

export interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** An operation of a manufacturer's published document: a server of it refuses whatever the document refuses. */
interface Row<Taken> {
  name: string;
  /** Its file in the manufacturer's repository; method and path name the operation in it. */
  document: string;
  method: string;
  /** As URLPattern writes it. */
  path: string;
  /** JSON by default. */
  media?: 'application/x-www-form-urlencoded';
  /** The answer to a caller without a right to it; null for others. */
  bars?: (request: ReceivedRequest) => Answer | null;
  takes: z.ZodType<Taken>;
  refuses: (issues: readonly z.core.$ZodIssue[]) => Answer;
  answers: (taken: Taken) => Answer | Promise<Answer>;
}

/** The parts of a request where nothing is sent: `{ ...empty, body }` takes a body alone. */
export const empty = { params: z.strictObject({}), query: z.strictObject({}), body: z.null() };

export type Operation = ReturnType<typeof operation>;

export function operation<Taken>({ media, bars, takes, refuses, answers, ...row }: Row<Taken>) {
  function answer(request: ReceivedRequest, named: object): Answer | Promise<Answer> {
    const barred = bars?.(request);
    if (barred) return barred;
    const { success, data, error } = takes.safeParse({ ...named, body: bodyOf(request, media) });
    return success ? answers(data) : refuses(error.issues);
  }
  return { ...row, pattern: new URLPattern({ pathname: row.path }), answer };
}

/** The operation that a request names, and its answer; no document says how other paths and methods are answered. */
export function findOperation(operations: readonly Operation[], request: ReceivedRequest) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  for (const one of operations) {
    const params = one.method === request.method && one.pattern.exec({ pathname })?.pathname.groups;
    if (params) return { one, answer: () => one.answer(request, { params, query: Object.fromEntries(searchParams) }) };
  }
  const isPath = operations.some(({ pattern }) => pattern.test({ pathname }));
  return { answer: (): Answer => [isPath ? 405 : 404] };
}

/** null for none, undefined for one of another media type, or that cannot be read. */
function bodyOf({ headers, text }: ReceivedRequest, media = 'application/json'): unknown {
  if (text === '' && headers['content-type'] === undefined) return null;
  if (headers['content-type']?.split(';')[0] !== media) return undefined;
  if (media !== 'application/json') return Object.fromEntries(new URLSearchParams(text));
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
