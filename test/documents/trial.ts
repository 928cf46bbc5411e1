import { isDeepStrictEqual } from 'node:util';
import type { ExecutionResult } from 'graphql';
import { createClient } from 'graphql-ws';
import { Pool } from 'undici';
import type { Gateway } from '../support/gateway.ts';
import { answer, type Fault, type Params, type Rows, readRows } from '../support/reference.ts';
import { type RandomDocument, randomDocument, randomFrom } from './generate.ts';
import { shrink } from './shrink.ts';
import { makeWorld, poolsOf } from './world.ts';

export interface Tried {
  documents: number;
  /** Compared answers, and those of them with errors. */
  answers: number;
  withErrors: number;
  failures: string[];
}

const COMPANY = 'acme';
const MOST_FAILURES = 5;
const WIDTH = 4;

/** Sends random documents by every transport and compares the answers with the reference's. */
export async function tryDocuments(gateway: Gateway, { count, seed }: { count: number; seed: number }): Promise<Tried> {
  const { rows, tried, faultOf, close } = await openTrial(gateway);
  const pools = poolsOf(rows);
  const tryOne = async (at: number) => {
    const document = randomDocument(pools, randomFrom(seed + at));
    tried.documents += 1;
    if (!(await faultOf(document))) return;
    const small = await shrink(document, async (smaller) => (await faultOf(smaller)) !== null);
    const sent = small.sends.map((one) => JSON.stringify(one)).join('\n');
    tried.failures.push(
      `--count 1 --seed ${seed + at}: ${await faultOf({ ...small, query: `${small.query}\n#` })}\n${small.query}\n${sent}`,
    );
    console.log(tried.failures.at(-1));
  };
  let next = 0;
  const work = async () => {
    while (next < count && tried.failures.length < MOST_FAILURES) await tryOne(next++);
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  await close();
  return tried;
}

/** Fills two companies and reads the rows for the reference; for an empty gateway. */
export async function openTrial(gateway: Gateway) {
  await makeWorld(gateway, COMPANY);
  await makeWorld(gateway, 'globex');
  const rows = await readRows(gateway, COMPANY);
  const { headers } = await gateway.as(COMPANY);
  const pool = new Pool(gateway.url, { connections: 2 * WIDTH });
  const socket = createClient({ url: `${gateway.url.replace('http', 'ws')}/graphql`, connectionParams: headers });
  const tried: Tried = { documents: 0, answers: 0, withErrors: 0, failures: [] };
  const ask: Ask = (way, type, params) =>
    way.socket ? sendBySocket(socket, params) : send(pool, headers, way, type, params);
  return {
    rows,
    tried,
    /** The difference between the answers to a document and the reference, or null. */
    faultOf: (document: RandomDocument) => faultOf(document, rows, ask, tried),
    close: async () => {
      await socket.dispose();
      await pool.close();
    },
  };
}

type Ask = (way: Way, type: string, params: Params) => Promise<RawAnswer>;

const JSON_TYPE = 'application/json';
const TYPES = [JSON_TYPE, 'application/graphql-response+json'];
const EVENT_STREAM = 'text/event-stream';
interface Way {
  name: string;
  /** The Accept header; undefined for transports without HTTP status. */
  accept?(type: string): string;
  get?: true;
  form?: true;
  socket?: true;
}
/** Transports: POST; POST with two types; GET; a stream of one event; a form; WebSocket. */
const ways: readonly Way[] = [
  { name: 'POST', accept: (type) => type },
  { name: 'POST, any of two', accept: (type) => `${type}, ${type};q=0.9` },
  { name: 'GET', accept: (type) => type, get: true },
  { name: 'POST, event stream', accept: () => EVENT_STREAM },
  { name: 'POST, form', accept: (type) => type, form: true },
  { name: 'WebSocket', socket: true },
];
/** The longest query string that is sent. */
const LONGEST_ADDRESS = 12_000;

interface RawAnswer {
  status: number;
  text: string;
}

async function send(
  pool: Pool,
  headers: Record<string, string>,
  { accept = (type) => type, get, form }: Way,
  type: string,
  params: Params,
): Promise<RawAnswer> {
  const { query, variables, operationName } = params;
  const address = new URLSearchParams({
    query,
    ...(variables && { variables: JSON.stringify(variables) }),
    ...(operationName && { operationName }),
  });
  const [contentType, body] = form ? formOf(params) : [JSON_TYPE, get ? null : JSON.stringify(params)];
  const response = await pool.request({
    method: get ? 'GET' : 'POST',
    path: get ? `/graphql?${address}` : '/graphql',
    headers: { ...headers, accept: accept(type), 'content-type': contentType },
    body,
  });
  const received = await response.body.text();
  const isStream = accept(type) === EVENT_STREAM;
  const text = isStream ? (/^event: next\ndata: (.*)$/m.exec(received)?.[1] ?? received) : received;
  return { status: response.statusCode, text };
}

/** A form of the GraphQL multipart request specification, without a file. */
function formOf(params: Params): [type: string, body: string] {
  const field = (name: string, value: string) =>
    `--limit\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const body = `${field('operations', JSON.stringify(params))}${field('map', '{}')}--limit--\r\n`;
  return ['multipart/form-data; boundary=limit', body];
}

async function sendBySocket(socket: ReturnType<typeof createClient>, params: Params): Promise<RawAnswer> {
  const results = socket.iterate(params as never);
  try {
    const { value } = await results.next();
    return { status: 0, text: JSON.stringify(value) };
  } catch (errors) {
    if (!Array.isArray(errors)) throw errors;
    return { status: 0, text: JSON.stringify({ errors }) };
  } finally {
    await results.return?.();
  }
}

async function faultOf({ query, sends }: RandomDocument, rows: Rows, ask: Ask, tried: Tried): Promise<string | null> {
  for (const [at, one] of sends.entries()) {
    const params = { query, ...one };
    const expected = await answer(rows, params);
    const type = TYPES[at % TYPES.length] ?? JSON_TYPE;
    const statuses = new Set<number>();
    for (const way of ways) {
      if (way.get && encodeURIComponent(JSON.stringify(params)).length > LONGEST_ADDRESS) continue;
      const { status, text } = await ask(way, type, params);
      if (way.accept && way.accept(type) !== EVENT_STREAM) statuses.add(status);
      const fault = difference(query, text, expected);
      tried.answers += 1;
      tried.withErrors += Number(expected.faults.length > 0);
      if (fault) return `${way.name}, send ${at}: ${status} ${fault}`;
    }
    if (statuses.size > 1) return `send ${at} has several statuses: ${[...statuses]}`;
  }
  return null;
}

/** The gateway reports at most this many errors. */
const MOST_ERRORS = 10;
type GraphQLFault = { path?: Fault['path']; locations?: unknown; extensions: { code: string } };

function difference(
  query: string,
  text: string,
  { result, faults }: { result: ExecutionResult; faults: Fault[] },
): string | null {
  const body = JSON.parse(text) as { data?: unknown; errors?: GraphQLFault[] };
  const data = JSON.stringify(result.data);
  // The database writes JSON values with spaces.
  const isSame =
    data === undefined
      ? !('data' in body)
      : text.includes(`"data":${data}`) || (/\b(?:data|headers)\b/.test(query) && JSON.stringify(body.data) === data);
  if (!isSame) return `\n${text.slice(0, 2_000)}\nin place of\n${JSON.stringify(result).slice(0, 2_000)}`;
  const [got, wanted] = [body.errors ?? [], result.errors ?? []].map((errors) => {
    return new Map(errors.map((error) => [nulledBy(error as GraphQLFault, result.data), error as GraphQLFault]));
  }) as [Map<string, GraphQLFault>, Map<string, GraphQLFault>];
  // GraphQL's own errors have their own codes.
  if (data === undefined) return got.size > 0 ? null : 'has no error';
  const isCut = body.errors?.length === MOST_ERRORS && new Set(got.keys()).isSubsetOf(wanted);
  if (!isCut && !isDeepStrictEqual(new Set(got.keys()), new Set(wanted.keys())))
    return `has errors at ${[...got.keys()].join(' ')} in place of ${[...wanted.keys()].join(' ')}`;
  for (const [place, { path = [], locations, extensions }] of got) {
    // Of several errors below one null, transports may report different ones; graphql-js's own are not all known.
    const isKnown = faults.some(
      (fault) =>
        fault.path.join('.').startsWith(place) &&
        fault.code === extensions.code &&
        (fault.code === 'VALIDATION_FAILED' || isDeepStrictEqual(fault.path, path)),
    );
    if (!isKnown) return `has ${extensions.code} at ${path} below ${place}`;
    const error = wanted.get(place);
    const isOwn = [path, error?.path ?? []].every((one) => one.join('.') === place);
    if (isOwn && !isDeepStrictEqual(locations, error?.locations))
      return `has an error at ${path} ${JSON.stringify(locations)} in place of ${JSON.stringify(error?.locations)}`;
  }
  return null;
}

/** The path at which an error left null in the data. */
function nulledBy({ path = [] }: GraphQLFault, data: unknown): string {
  let value = data;
  let depth = 0;
  while (value != null && depth < path.length) value = (value as Record<string | number, unknown>)[path[depth++] ?? ''];
  return path.slice(0, depth).join('.');
}
