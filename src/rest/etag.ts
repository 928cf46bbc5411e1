import { hash } from 'node:crypto';

const TAG_LENGTH = 22;

/** The tag of a resource, a hash of its JSON: every visible change makes another tag. */
export const tagOf = (text: string): string => `W/"${hash('sha256', text, 'base64url').slice(0, TAG_LENGTH)}"`;

/** Whether a header has the tag, or `*`. Proxies make weak tags of strong ones. */
export function hasTag(header: string, tag: string): boolean {
  const [strong, ...named] = [tag, ...header.split(',')].map((one) => one.trim().replace(/^W\//, ''));
  return header.trim() === '*' || named.some((one) => one === strong);
}
