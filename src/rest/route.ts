import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { CommandDescription, Context, Scope } from '../core/context.ts';
import type { ErrorCode, Precondition } from '../core/errors.ts';
import { copierOf } from '../core/sql/selection.ts';
import type { Pieces } from '../http/body.ts';
import { type HeaderName, type Json, mapValues } from './openapi/json-schema.ts';
import { oneOrMore, type PathParameter, type QueryParameter, queryParameters, type Tag } from './openapi/parameters.ts';

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
  /** The check of `If-Match`; undefined without that header. */
  expected: Precondition<object> | undefined;
  /** Aborts when the client disconnects or has its answer. */
  left(): AbortSignal;
  /** Aborts when the client disconnects or has its answer, its token expires, `longestMs` have passed, or the process is to end. */
  closed(longestMs?: number): AbortSignal;
  incoming: IncomingMessage;
  header(name: string): string | undefined;
  /** The media type among these that the client prefers; the first without a preference. */
  accepts<Type extends string>(types: readonly [Type, ...Type[]]): Type;
}

export const membersOf = ({ body }: RestRequest): object =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};

/** The answer: a value to send as JSON, or pieces to stream. */
export interface Answer {
  /** By default the first of the route's `answers`. */
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** A body that is text already: JSON, unless a header says otherwise. */
  text?: string;
  stream?: { type: string; pieces: Pieces };
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
  /** The resource has an `ETag`, a hash of its JSON, for `If-None-Match` and `If-Match`. */
  etag?: true;
  /** The resource as answers have it. */
  copy(resource: object): unknown;
  prefer?: true;
  /** The schema of the JSON body; for an upload, of its form. */
  body?: z.ZodObject;
  /** An input of the command; the body has its fields that are in the schema. */
  example?: Readonly<Record<string, unknown>>;
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

/** With a `result`, its fields are sent as the first answer's schema has them; a text describes an answer with the group's resource. */
export type Operation<Resource extends z.ZodObject = z.ZodObject> = Pick<
  Route,
  'summary' | 'description' | 'query' | 'etag' | 'prefer' | 'body' | 'example' | 'files' | 'errors'
> & { tag?: Tag; scope?: Scope } & (
    | Pick<Route, 'answers' | 'answer'>
    | { answers: Route['answers']; result: Result<object> }
    | { answers: Readonly<Record<number, string>>; result: Result<z.output<Resource>> }
  );

/** A command with sentences about REST alone. */
export const inRest = ({ description, ...command }: CommandDescription, more: string): CommandDescription => ({
  ...command,
  description: `${description} ${more}`,
});

/** Gives the new resource where the answer has a `Location`. */
type Result<Value> = (ctx: Context, request: RestRequest) => Promise<Value | undefined>;

interface Group<Resource> {
  scopes?: 'fleets' | 'contracts';
  token?: 'optional';
  resource?: Resource;
  /** The error where the path names nothing. */
  missing?: ErrorCode;
}

/** Makes the routes of one group by method: GET needs the scope to read, the others need the scope to write. */
export function operations<Resource extends z.ZodObject>(
  tag: Tag,
  { scopes = 'fleets', resource, missing, ...common }: Group<Resource> = {},
) {
  const own = resource && { schema: resource };
  const copy = copierOf(resource);
  const by = (method: Route['method']) => {
    const scope = `${scopes}:${method === 'GET' ? 'read' : 'write'}` as const;
    return (
      path: string,
      operationId: string,
      { answers: all, errors = [], ...operation }: Operation<Resource>,
    ): Route => {
      const answers = mapValues<AnswerDocs | string, AnswerDocs>(all, (docs) =>
        typeof docs === 'string' ? { description: docs, ...own } : docs,
      );
      return {
        ...{ method, path, operationId, tag, scope, copy, answers, parameters: parametersOf(operation.query) },
        errors: missing && path.includes(':') ? [missing, ...errors] : errors,
        ...common,
        ...('answer' in operation ? operation : { ...operation, answer: answerBy(operation.result, path, answers) }),
      };
    };
  };
  return { get: by('GET'), post: by('POST'), patch: by('PATCH'), remove: by('DELETE') };
}

function answerBy(result: Result<object>, path: string, answers: Route['answers']): Route['answer'] {
  const { schema, headers = [] } = Object.values(answers)[0] ?? {};
  const copy = copierOf(schema);
  return async (ctx, request) => {
    const found = await result(ctx, request);
    const isNew = found && 'id' in found && headers.includes('Location');
    return {
      ...(isNew && { headers: { Location: `${path}/${found.id}` } }),
      ...(schema && found && { body: copy(found) }),
    };
  };
}

/** An optional parameter of the query that may not be repeated. */
export const once = z.string('must stand once').optional();
/** The values of a parameter that are separated by commas. */
export const splitCommas = (list: unknown) =>
  typeof list === 'string' ? list.split(',').map((one) => one.trim()) : list;
const commaList = once.transform(splitCommas);
const repeatable = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string()).optional(),
);

const LIST_PARAMETERS = ['limit', 'after', 'sort'];

function parametersOf(names: readonly QueryParameter[] = []): z.ZodObject {
  const all = names.map((name): Json => queryParameters[name]);
  const own = all.filter(({ name }) => !LIST_PARAMETERS.includes(`${name}`));
  const schemaOf = ({ explode, schema }: Json) =>
    explode === false ? commaList : schema === oneOrMore ? repeatable : once;
  return z.object(Object.fromEntries(own.map((one) => [one.name, schemaOf(one)])));
}
