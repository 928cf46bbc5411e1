import { isIP } from 'node:net';
import { ValidationFailed } from '../errors.ts';
import { mayBeReached } from './public-address.ts';

const LONGEST = 2048;

/**
 * A webhook's address in its normal form; throws ValidationFailed for one that deliveries must not go to. A name is
 * not looked up here: what it resolves to is checked when a connection is made, each time.
 */
export function readWebhookUrl(value: string, settings: { loopback: boolean }): string {
  const url = URL.parse(value);
  const fault = url ? faultOf(url, settings) : 'is not a URL';
  if (!url || fault) throw new ValidationFailed([{ path: 'url', code: 'INVALID_URL', message: fault ?? '' }]);
  url.hash = '';
  return url.href;
}

/** What is wrong with the URL itself, or null. */
export function faultOf(url: URL, { loopback }: { loopback: boolean }): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const literal = isIP(host) !== 0;
  const local =
    host === 'localhost' ||
    (literal && mayBeReached(host, { loopback: true }) && !mayBeReached(host, { loopback: false }));
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback && local)) return 'must begin with https://';
  if (url.username || url.password) return 'must hold no credentials; the signature says who is sending';
  if (url.href.length > LONGEST) return `is at most ${LONGEST} characters`;
  if (literal ? !mayBeReached(host, { loopback }) : local && !loopback)
    return 'must be an address of the public internet';
  return null;
}
