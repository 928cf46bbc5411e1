import { userInfo } from 'node:os';
import { getCACertificates } from 'node:tls';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** Modes that are verify-full here (docs/reference.md); pg would warn of each in a page of text. */
const AS_VERIFY_FULL = /(?<=[?&]sslmode=)(?:allow|prefer|require|verify-ca)(?=&|$)/g;
const AS_LIBPQ = /[?&]uselibpqcompat=true(?:&|$)/;
const NO_MODE = /[?&]sslmode=(?!(?:disable|allow|prefer|require|verify-ca|verify-full|no-verify)(?:&|$))/;
/** The authorities of the operating system, which pg would look for in a file. */
const SYSTEM = /(?<=[?&])sslrootcert=system(?=&|$)/;

/** Scheme and credentials, host and port, database, words. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/]*(?:@[^@/?]*)*@)?)([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s;

/** A plus is a plus to libpq. In `options`, which would have none, it is a blank, as URLSearchParams write it. */
const plain = (word: string): string => (word.startsWith('options=') ? word : word.replaceAll('+', '%2B'));

/**
 * An address as URL takes it apart like libpq: credentials go to the @, whatever is in them, and a # has no meaning. The database
 * is apart, since pg decodes a part of its name only.
 */
function rewritten(address: string) {
  const encoded = address
    .replaceAll(' ', '%20')
    .replaceAll('#', '%23')
    .replaceAll(/%(?![\da-f]{2})/gi, '%25');
  const [, head = '', place = '', path = '', words = ''] = PARTS.exec(encoded) ?? [];
  const url = `${head.replaceAll('?', '%3F')}${place}/${path}?${words.split('&').map(plain).join('&')}`;
  return { isOurs: head !== '', url, place, database: decodeURIComponent(path) };
}

/** Who runs the process, if the system knows. */
function account(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

type Words = { dbname?: string; channel_binding?: string };

/** What an address says, as pg takes it. TLS is for networks: servers refuse it on a socket, and libpq ignores it there. */
export function addressOf(address: string): ClientConfig {
  const { url, database } = rewritten(address);
  const strict = AS_LIBPQ.test(url) ? url : url.replaceAll(AS_VERIFY_FULL, 'verify-full');
  const parsed: ClientConfig & Words = parseIntoClientConfig(strict.replace(SYSTEM, 'sslmode=verify-full'));
  const { ssl, dbname, channel_binding: binding = '', ...known } = parsed;
  const { PGHOST, PGUSER, PGDATABASE } = process.env;
  const host = known.host || PGHOST || 'localhost';
  const user = known.user || PGUSER || account();
  if (SYSTEM.test(url) && typeof ssl === 'object') ssl.ca = getCACertificates('system');
  return {
    ...known,
    host,
    user,
    database: dbname || database || PGDATABASE || user,
    enableChannelBinding: /^(?:prefer|require)$/.test(binding),
    ...(host.startsWith('/') ? { ssl: false } : ssl !== undefined && { ssl }),
  };
}

/** The place of a database, without credentials. */
export function nameOf(url: string): string {
  const { host = '', port, database = '' } = addressOf(url);
  const written = host.includes(':') && !host.startsWith('/') ? `[${host}]` : host;
  return `${written}${port ? `:${port}` : ''}/${database}`;
}

/** pg connects to one host, where libpq takes several. */
const SEVERAL =
  'must name one host: the primary, or a name that follows it, of a proxy or of the provider (target_session_attrs ' +
  'has no effect; replicas go to DATABASE_READ_URLS)';

const NO_ADDRESS =
  'must be an address such as postgresql://user@host/fleets, or postgresql://user@/fleets?host=/var/run/postgresql';

/** Words of libpq that pg passes over, though the connection would be another one, or a less safe one. */
const UNKNOWN: Readonly<Record<string, string>> = {
  service: 'write what that service has into the address',
  passfile: 'name that file in PGPASSFILE',
  hostaddr: 'write that address as the host',
  sslpassword: 'give the key without a password (openssl pkey)',
  sslcrl: 'revoked certificates are not looked up',
  sslcrldir: 'revoked certificates are not looked up',
  ssl_min_protocol_version: 'set it on the server',
  ssl_max_protocol_version: 'set it on the server',
  require_auth: 'check the server’s certificate instead (sslmode=verify-full)',
  requirepeer: 'let only the server’s account write to the folder of its socket',
};

/** Why an address cannot be used; null if it can. */
export function addressFault(url: string): string | null {
  try {
    const { isOurs, place } = rewritten(url);
    if (!isOurs) return NO_ADDRESS;
    if (place.includes(',')) return SEVERAL;
    const address = addressOf(url);
    if (address.host?.includes(',')) return SEVERAL;
    if (NO_MODE.test(url)) return 'must have sslmode=disable, require, verify-ca or verify-full, if any';
    const word = Object.keys(UNKNOWN).find((one) => one in address);
    return word ? `must do without ${word}=, which has no effect here: ${UNKNOWN[word]}` : null;
  } catch (error) {
    // The files of certificates are read.
    if (error instanceof Error && 'syscall' in error) return `must name files that can be read (${error.message})`;
    if (/sslmode=verify-ca/.test(String(error)))
      return 'must name a CA for sslmode=verify-ca: sslrootcert=/path/to/ca.pem';
    return NO_ADDRESS;
  }
}
