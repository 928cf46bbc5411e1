import { faultOf } from './sqlstate.ts';

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

/** What to do where the words of the server or the system, in its language, say what is wrong. */
const HINTS: [fault: RegExp, hint: string][] = [
  [/^28P01$/, 'correct user and password in the address'],
  [/^28000$/, 'have the server let it in (pg_hba.conf), or correct the address'],
  [/^3D000$/, 'create it (createdb), or correct the name in the address'],
  [/^42501$/, 'grant it to the role'],
  [/^53300$/, 'raise max_connections or the limit of the role, or use a pooler: a process has 27 connections'],
  [/^(40|53|55P03|57|08)|^E(CONNRESET|PIPE)|^Connection terminated unexpectedly|^Client /, 'try again'],
  [/^E[A-Z]|^timeout e|^Connection terminated/, 'see that the server runs, and that the address leads there'],
];

/** Why a server cannot be connected to, or ended a connection, and what to do. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  const [, remedy] = REMEDIES.find(([fault]) => fault.test(code || error.message)) ?? [];
  if (remedy) return `${remedy}${code && ` (${code})`}.`;
  // What the server adds, such as that a locale is missing and which, is often the remedy.
  const { detail, hint } = error as { detail?: string; hint?: string };
  const [, own] = HINTS.find(([fault]) => fault.test(code || error.message)) ?? [];
  const words = [error.message || code, detail, hint, own].flatMap((text) => text?.replace(/\.$/, '') || []);
  return `${words.join('; ')}.`;
}

/** How the database ended a start or a command; null: it did not. */
export function endOf(error: unknown): string | null {
  const fault = faultOf(error);
  return fault && `${fault.says} ${reasonOf(error)}`;
}
