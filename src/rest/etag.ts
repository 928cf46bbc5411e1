import { hash } from 'node:crypto';
import type { Precondition } from '../core/errors.ts';
import type { RestRequest } from './route.ts';

const TAG_LENGTH = 22;

/** The tag of a resource, a hash of its JSON: every visible change makes another tag. */
export const tagOf = (text: string): string => `W/"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;

/** The check of `If-Match`; undefined without that header. */
export function expectedBy<T>(request: RestRequest, shape: (resource: T) => object): Precondition<T> {
  const header = request.header('If-Match');
  return header === undefined ? undefined : (current) => hasTag(header, tagOf(JSON.stringify(shape(current))));
}

/** Whether a header has the tag, or `*`. Proxies make weak tags of strong ones. */
export function hasTag(header: string, tag: string): boolean {
  const [strong, ...named] = [tag, ...header.split(',')].map((one) => one.trim().replace(/^W\//, ''));
  return header.trim() === '*' || named.some((one) => one === strong);
}
