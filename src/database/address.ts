import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

/** What an address says, as pg takes it. TLS is for networks: servers refuse it on a socket, and libpq ignores it there. */
export function addressOf(url: string): ClientConfig {
  const { ssl, ...address } = parseIntoClientConfig(url);
  return address.host?.startsWith('/') ? { ...address, ssl: false } : { ...address, ...(ssl !== undefined && { ssl }) };
}

/** The place of a database, without credentials. */
export function nameOf(url: string): string {
  const { host = '', port, database = '' } = addressOf(url);
  const written = host.includes(':') && !host.startsWith('/') ? `[${host}]` : host;
  return `${written}${port ? `:${port}` : ''}/${database}`;
}

/** Several hosts, as libpq takes them: pg connects to one. */
const HOSTS = /^\w+:\/\/(?:[^/?]*@)?[^/?@]*,|[?&]host=[^&]*(?:,|%2C)/i;

/** Why an address cannot be used; null if it can. */
export function addressFault(url: string): string | null {
  if (HOSTS.test(url)) {
    return (
      'must name one host: the primary, or a name that follows it, of a proxy or of the provider ' +
      '(target_session_attrs has no effect; replicas go to DATABASE_READ_URLS)'
    );
  }
  try {
    if (/^postgres(?:ql)?:\/\//.test(url) && addressOf(url)) return null;
  } catch (error) {
    // Its certificates are read.
    if (error instanceof Error && 'syscall' in error) return `must name files that can be read (${error.message})`;
    if (error instanceof Error && /sslmode/.test(error.message))
      return `must name a CA with sslmode=verify-ca, by sslrootcert=/path/to/ca.pem`;
  }
  return 'must be an address such as postgresql://user@host/fleets, or postgresql://user@/fleets?host=/var/run/postgresql';
}

/** What to do about a certificate; Node's own text names a flag of Node. */
const REMEDIES: [codes: RegExp, remedy: string][] = [
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
  const [, remedy] = REMEDIES.find(([codes]) => codes.test(code)) ?? [];
  return remedy ? `${remedy} (${code}).` : error.message || code;
}
