import { statusOf } from '../../src/core/errors.ts';
import type { Json } from '../support/client.ts';
import { inputErrorsOf as documentFaults } from '../support/openapi.ts';
import type { FuzzRequest } from './request.ts';
import type { FuzzAnswer } from './send.ts';

/** Texts that no answer may contain. */
export interface Secrets {
  /** The name of another company, which no request contains. */
  hidden: string;
  /** Names of constraints, indexes and folders. */
  inner: readonly string[];
}

const inside =
  /SQLSTATE|syntax error at or near|violates [\w-]+ constraint|duplicate key value|(?:select|insert|update|delete)\b[^<>]{0,200}\b(?:from|into) "?(?:fleet|vehicle|contract|import|event|webhook|delivery)\b|\.[jt]s:\d+|node_modules|node:internal|kysely|mikro-?orm|pglite|ECONN|ENOENT|\[object Object\]|Cannot read prop|is not a function|is not iterable/i;

/** The message for a text that only the database has refused. */
const UNNAMED = 'The request holds characters that are not text.';

/** All faults of an answer; empty if there are none. */
export function judge(asked: FuzzRequest, answer: FuzzAnswer, secrets: Secrets): string[] {
  if (answer.status === 0) return [`no answer: ${answer.text}`];
  const all = `${[...answer.headers].join('\n')}\n${answer.text}`;
  return [
    ...(answer.status >= 500 ? [`status ${answer.status}`] : []),
    // HTML pages contain libraries, in whose text any word may occur.
    ...(answer.headers.get('content-type')?.startsWith('text/html') ? [] : leaks(all, spoke(asked), secrets)),
    ...(answer.headers.has('x-request-id') ? [] : ['it has no request id']),
    ...(answer.text.includes(UNNAMED) ? ['it refuses a text and does not say which'] : []),
    ...(/^\/graphql\/?(\?|$)/.test(asked.path) ? graphqlFaults(asked, answer) : restFaults(asked, answer)),
  ];
}

/** Secrets in answers; text that the request itself contained does not count. */
export function leaks(answers: string, said: string, { hidden, inner }: Secrets): string[] {
  const told = inside.exec(answers)?.[0] ?? inner.find((word) => answers.includes(word));
  return [
    ...(told !== undefined && !said.toLowerCase().includes(told.toLowerCase()) ? [`it tells of "${told}"`] : []),
    ...(answers.includes(hidden) ? ['it shows what another company has'] : []),
  ];
}

const spoke = ({ path, body = '', headers }: FuzzRequest): string =>
  `${path}\n${Object.values(headers).join('\n')}\n${body}`;

function restFaults({ method, path }: FuzzRequest, { status, headers, text }: FuzzAnswer): string[] {
  const type = headers.get('content-type') ?? '';
  const isJson = /^application\/(?:problem\+)?json/.test(type);
  const body = isJson && text && method !== 'HEAD' ? parsed(text) : text || null;
  if (body === undefined) return [`its JSON is none: ${text.slice(0, 100)}`];
  const refused = status >= 400 && method !== 'HEAD';
  return [
    ...(refused && !type.startsWith('application/problem+json') ? [`a refusal (${status}) of type ${type}`] : []),
    ...(refused && statusOf[body?.code as keyof typeof statusOf] !== status
      ? [`${status} with code ${body?.code}`]
      : []),
    ...documentFaults(method, path.split('?')[0] ?? '', { status, headers, body }),
  ];
}

/** Codes of GraphQL in addition to those of `statusOf`. */
const graphqlCodes = new Set(['GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'OPERATION_RESOLUTION_FAILURE']);
const graphqlStatuses = new Set([200, 406, ...Object.values(statusOf).filter((status) => status < 500)]);

function graphqlFaults({ method }: FuzzRequest, { status, headers, text }: FuzzAnswer): string[] {
  const type = headers.get('content-type') ?? '';
  if (!graphqlStatuses.has(status) && status !== 204) return [`status ${status}`];
  if (method !== 'POST' && (text === '' || type.startsWith('text/html'))) return [];
  if (status === 406) return text === '' ? [] : ['a 406 that says something'];
  if (type.startsWith('text/event-stream') || type.startsWith('multipart/mixed')) {
    const results = text.split('\n').filter((line) => /^(?:data: )?\{.*\}\r?$/.test(line));
    return results.flatMap((line) => resultFaults(parsed(line.replace(/^data: /, ''))));
  }
  if (!/^application\/(?:graphql-response\+)?json/.test(type)) return [`type ${type}`];
  return resultFaults(parsed(text));
}

function resultFaults(result: Json): string[] {
  if (typeof result !== 'object' || result === null) return ['its JSON is none'];
  if (!('data' in result) && !('errors' in result)) return ['neither data nor errors'];
  if (!('errors' in result)) return [];
  if (!Array.isArray(result.errors) || result.errors.length === 0) return ['errors that are no list'];
  return result.errors.flatMap(({ message, extensions }: Json) => {
    const code = extensions?.code;
    const isKnown = graphqlCodes.has(code) || statusOf[code as keyof typeof statusOf] < 500;
    return isKnown && typeof message === 'string' ? [] : [`an error with code ${code}: ${message}`];
  });
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
