import { hash } from 'node:crypto';
import type { Expected } from '../core/errors.ts';
import type { RestRequest } from './route.ts';

// A tag is a hash of the resource as it is shown, so every visible change makes another tag and none is stored.

/** Characters of a SHA-256 in base64url: 132 bits. */
const TAG_LENGTH = 22;

/** The tag of a resource by its JSON; all of it that REST shows. */
export const tagOf = (text: string): string => `W/"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;

/** The check that `If-Match` asks for; undefined without that header. `shape` gives the resource as REST shows it. */
export function expectedBy<T>(request: RestRequest, shape: (resource: T) => object): Expected<T> {
  const header = request.header('If-Match');
  return header === undefined ? undefined : (current) => hasTag(header, tagOf(JSON.stringify(shape(current))));
}

/** Whether a header has the tag, or `*`; weak or not, since proxies make weak tags of strong ones. */
export function hasTag(header: string, tag: string): boolean {
  const [strong, ...named] = [tag, ...header.split(',')].map((one) => one.trim().replace(/^W\//, ''));
  return header.trim() === '*' || named.some((one) => one === strong);
}
