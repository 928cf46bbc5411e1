import type { ClientConfig } from 'pg';
import { addressOf } from './address.ts';

type Settings = Readonly<Record<string, string>>;

/** What every session needs, whatever its role and database have by default, as PostgreSQL shows it. docs/operations.md lists it. */
export const SESSION = {
  // A change that waited for another goes on with what that one left.
  default_transaction_isolation: 'read committed',
  // The texts of a statement are written so: a backslash is part of them.
  standard_conforming_strings: 'on',
  // A null in an array is not the text NULL.
  array_nulls: 'on',
  // An index of lists gives all rows, not some by chance.
  gin_fuzzy_search_limit: '0',
  // Seconds and counts come with all their digits.
  extra_float_digits: '1',
  plan_cache_mode: 'auto',
  // Compiling a plan pays for statements of seconds, and costs short ones ten times what they take.
  jit: 'off',
  statement_timeout: '30s',
  lock_timeout: '3s',
  idle_in_transaction_session_timeout: '1min',
  idle_session_timeout: '0',
} satisfies Settings;

/** One plan for all values: for a company outside its statistics, the planner would expect no rows. */
export const GENERIC_PLAN = { plan_cache_mode: 'force_generic_plan' } satisfies Settings;

/** Sessions that read use the index with the order of a list: by its statistics, PostgreSQL may sort all of it. */
export const READ_SETTINGS = {
  ...GENERIC_PLAN,
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  enable_seqscan: 'off',
} satisfies Settings;

/** A connection with these settings beside those of every session. A lost server is noticed in about 20 seconds on an idle one. */
export function session(url: string, own: Settings = {}): ClientConfig {
  const { options = process.env.PGOPTIONS ?? '', ...address } = addressOf(url);
  // The last one counts. A blank ends a value.
  const ours = Object.entries({ ...SESSION, ...own }).map(([name, value]) => `-c ${name}=${value.replace(' ', '\\ ')}`);
  return {
    application_name: 'fleet-gateway',
    ...address,
    // Those of an address would count before the options.
    ...{ statement_timeout: 0, lock_timeout: 0, idle_in_transaction_session_timeout: 0 },
    options: [options, ...ours].join(' '),
    connectionTimeoutMillis: 3_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

const UNITS = { ms: 1, s: 1_000, min: 60_000 };

/** The last limit of statements (ms) in the text of a statement or in options; 0 is none. */
export function statementLimitIn(text: string): number | undefined {
  const found = [...text.matchAll(/statement_timeout\W+(\d+)(ms|s|min)?/g)].at(-1);
  if (!found) return undefined;
  return Number(found[1]) * UNITS[(found[2] ?? 'ms') as keyof typeof UNITS] || Number.POSITIVE_INFINITY;
}
