import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** Modes that are verify-full here (docs/reference.md); pg would warn of each in a page of text. */
const AS_VERIFY_FULL = /(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/g;
const AS_LIBPQ = /[?&]uselibpqcompat=true(?:&|$)/;

/** What an address says, as pg takes it. TLS is for networks: servers refuse it on a socket, and libpq ignores it there. */
export function addressOf(url: string): ClientConfig {
  const { ssl, ...address } = parseIntoClientConfig(
    AS_LIBPQ.test(url) ? url : url.replaceAll(AS_VERIFY_FULL, 'verify-full'),
  );
  return address.host?.startsWith('/') ? { ...address, ssl: false } : { ...address, ...(ssl !== undefined && { ssl }) };
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

/** Why an address cannot be used; null if it can. */
export function addressFault(url: string): string | null {
  const [, , authority = ''] = url.split(/[/?]/);
  if (authority.slice(authority.lastIndexOf('@')).includes(',')) return SEVERAL;
  try {
    if (/^postgres(?:ql)?:\/\//.test(url)) return addressOf(url).host?.includes(',') ? SEVERAL : null;
  } catch (error) {
    // The files of certificates are read.
    if (error instanceof Error && 'syscall' in error) return `must name files that can be read (${error.message})`;
    if (/sslmode=verify-ca/.test(String(error)))
      return 'must name a CA for sslmode=verify-ca: sslrootcert=/path/to/ca.pem';
  }
  return 'must be an address such as postgresql://user@host/fleets, or postgresql://user@/fleets?host=/var/run/postgresql';
}

export const READ_ONLY_REMEDY =
  'it is read-only: name the primary in DATABASE_URL (replicas go to DATABASE_READ_URLS), or set ' +
  'default_transaction_read_only = off for the role';

/** What to do about a password and a certificate; pg's own text names a part of its code, Node's a flag of Node. */
const REMEDIES: [fault: RegExp, remedy: string][] = [
  [/^25006$/, READ_ONLY_REMEDY],
  [
    /does not support SSL/,
    'it has no TLS: switch it on there (ssl = on), or, on a network of your own, do without it (sslmode=disable)',
  ],
  [
    /client password must be/,
    'it asks for a password, and the address has none (postgresql://user:password@host/fleets)',
  ],
  [
    /SELF_SIGNED|^UNABLE_TO_/,
    'its certificate is of no authority that is known here: add sslrootcert=/path/to/ca.pem to the address, with that ' +
      'authority, or uselibpqcompat=true, for sslmode=require to check no certificate, as in libpq',
  ],
  [
    /ALTNAME/,
    'its certificate names another server: use that name in the address, or add ' +
      'uselibpqcompat=true&sslmode=verify-ca&sslrootcert=/path/to/ca.pem, which checks the authority alone',
  ],
];

/** Why a server cannot be connected to. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  const [, remedy] = REMEDIES.find(([fault]) => fault.test(code || error.message)) ?? [];
  if (remedy) return `${remedy}${code && ` (${code})`}.`;
  // What the server adds, such as that a locale is missing and which, is often the remedy.
  const { detail, hint } = error as { detail?: string; hint?: string };
  return [error.message || code, detail, hint].filter(Boolean).join('; ');
}
