import { hash } from 'node:crypto';
import type { Expected } from '../core/errors.ts';
import type { Answer, RestRequest } from './route.ts';

// A tag is a hash of the resource as it is shown, so every visible change makes another tag and none is stored.

/** Characters of a SHA-256 in base64url: 132 bits. */
const TAG_LENGTH = 22;

const tagOf = (text: string): string => `W/"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;

/** An answer that shows one resource, with its tag; `shown` is all of the resource that REST shows. */
export function taggedAnswer(status: number, shown: object, headers: Record<string, string> = {}): Answer {
  const text = JSON.stringify(shown);
  return { status, headers: { ...headers, ETag: tagOf(text) }, text };
}

/** Like taggedAnswer for a GET, or 304 where the client says that it has it. */
export function getAnswer(request: RestRequest, shown: object): Answer {
  const { headers = {}, ...answer } = taggedAnswer(200, shown);
  return names(request.header('If-None-Match'), headers.ETag ?? '') ? { status: 304, headers } : { ...answer, headers };
}

/** The check that `If-Match` asks for; undefined without that header. `shape` gives the resource as REST shows it. */
export function expectedBy<T>(request: RestRequest, shape: (resource: T) => object): Expected<T> {
  const header = request.header('If-Match');
  return header === undefined ? undefined : (current) => names(header, tagOf(JSON.stringify(shape(current))));
}

const OPAQUE = /^\s*(?:W\/)?("[^"]*")\s*$/;

/** Whether a header has the tag, or `*`; by the text within quotes, since proxies make weak tags of strong ones. */
function names(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const own = OPAQUE.exec(tag)?.[1];
  return header.trim() === '*' || header.split(',').some((one) => OPAQUE.exec(one)?.[1] === own);
}
