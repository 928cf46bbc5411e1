import pg from 'pg';

// What a careful operator gives a service: roles that own one schema and nothing else, and defaults that are unlike PostgreSQL's.

/** The administrator's: each of its characters has a meaning in addresses. */
export const PASSWORD = 'p@ss:w/ö?#1 %&+ü';

/** Each role has its own. */
export const passwordOf = (role: string): string => `${PASSWORD} ${role}`;

/** Where the tables are, by search_path of the roles alone. */
export const SCHEMA = 'fleets';

/** Defaults of a role, which count unless a session sets its own. */
const ODD: Record<string, string> = {
  search_path: SCHEMA,
  default_transaction_isolation: 'serializable',
  client_encoding: 'LATIN1',
  timezone: 'America/St_Johns',
  datestyle: 'SQL, DMY',
  intervalstyle: 'iso_8601',
  bytea_output: 'escape',
  default_text_search_config: 'pg_catalog.german',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  gin_fuzzy_search_limit: '1',
  extra_float_digits: '-15',
  row_security: 'off',
  lock_timeout: '1s',
  statement_timeout: '20s',
  idle_session_timeout: '20s',
  idle_in_transaction_session_timeout: '20s',
  plan_cache_mode: 'force_custom_plan',
  jit: 'on',
  work_mem: '64kB',
  default_transaction_deferrable: 'on',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  timezone_abbreviations: 'India',
  client_min_messages: 'debug1',
  check_function_bodies: 'off',
};

export type Role = 'service' | 'direct' | 'replica';
export type Roles = Record<Role, string>;

/** An i in capitals is İ, and names are sorted by language. */
const TURKISH = `template0 encoding UTF8 locale_provider icu icu_locale 'tr'`;

const { escapeIdentifier: named, escapeLiteral: quoted } = pg;

/** Runs statements one after the other on a new connection, and gives the rows of the last. */
export async function execute<Row extends object>(url: string, ...statements: string[]): Promise<Row[]> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    let rows: Row[] = [];
    for (const statement of statements) ({ rows } = await client.query<Row>(statement));
    return rows;
  } finally {
    await client.end();
  }
}

/** An administrator's address, whose sessions find the tables, and wait for no standby. libpq takes %20 for a blank, not a plus. */
export function administrative(url: string): string {
  const admin = new URL(url);
  admin.searchParams.set('options', `-c search_path=${SCHEMA},public -c timezone=UTC -c synchronous_commit=local`);
  admin.search = admin.search.replaceAll('+', '%20');
  return admin.href;
}

/** The same server with other credentials, and another database. */
export const at = (url: string, database: string, role?: string): string =>
  Object.assign(new URL(url), {
    pathname: database,
    ...(role && {
      username: encodeURIComponent(role),
      password: encodeURIComponent(passwordOf(role)),
      search: tlsOf(url),
    }),
  }).href;

/** What an address says about TLS, without the administrator's search_path. */
function tlsOf(url: string): string {
  const { searchParams } = new URL(url);
  searchParams.delete('options');
  return `${searchParams}`;
}

/** Statements that make a role that may connect where it is allowed to, with these defaults. */
export const createRole = (name: string, defaults: Record<string, string> = {}): string[] => [
  `create role ${named(name)} login password ${quoted(passwordOf(name))}`,
  ...Object.entries(defaults).map(
    ([setting, value]) =>
      `alter role ${named(name)} set ${setting} = ${setting === 'search_path' ? value : quoted(value)}`,
  ),
];

/** The names of the roles of one service. */
export const rolesOf = (service = 'gate-way'): Roles => ({
  service,
  direct: `${service} direct`,
  replica: `${service} replica`,
});

/** Makes the roles of a service. The one of the direct address makes tables as the service's; the one of replicas reads. */
export async function createRoles(admin: string, roles = rolesOf()): Promise<Roles> {
  await execute(
    admin,
    ...Object.values(roles).flatMap((role) => createRole(role, ODD)),
    `grant ${named(roles.service)} to ${named(roles.direct)}`,
    `alter role ${named(roles.direct)} set role = ${named(roles.service)}`,
  );
  return roles;
}

/** Removes the roles of a service with the databases that they may connect to. */
export async function dropRoles(admin: string, roles: Roles): Promise<void> {
  const databases = await execute<{ datname: string }>(
    admin,
    `select distinct datname from pg_database, aclexplode(datacl) where grantee = to_regrole(${quoted(named(roles.service))})`,
  );
  const theirs = databases.map(({ datname }) => `drop database ${named(datname)} with (force)`);
  await execute(admin, ...theirs, ...Object.values(roles).map((role) => `drop role if exists ${named(role)}`));
}

/** A database that only these roles may connect to, empty or a copy. Its schema is theirs, the rest is not. */
export async function createDatabase(admin: string, name: string, roles: Roles, template?: string): Promise<void> {
  const { service, direct, replica } = roles;
  const allowed = Object.values(roles).map(named).join(', ');
  await execute(
    admin,
    `create database ${named(name)} template ${template ? named(template) : TURKISH}`,
    `revoke all on database ${named(name)} from public`,
    `grant connect on database ${named(name)} to ${allowed}`,
  );
  if (template) return;
  await execute(
    at(admin, name),
    'create extension btree_gist schema public',
    `create schema ${SCHEMA} authorization ${named(service)}`,
    `grant usage on schema ${SCHEMA} to ${named(direct)}, ${named(replica)}`,
    `alter default privileges for role ${named(service)} in schema ${SCHEMA} grant select on tables to ${named(replica)}`,
    'revoke all on schema public from public',
  );
}
